# Springbok: everything that a person or CI runs. Needs Python 3.10+, JDK 17 and Maven; fetches the rest.
SCALE ?= 1
QUERIES ?= all
RUNS ?= 1
PYTHON ?= python3
BIN := .venv/bin
# What the files below stand for is up to date; nothing is built or fetched twice.
VENV := .venv/.installed
JAR_SOURCES := $(shell find jvm/src/main -name '*.scala') build.sbt project/build.properties project/plugins.sbt VERSION
JAR := .venv/.jar

.PHONY: demo test test-scala test-python lint format docs build bench wheel clean
.DEFAULT_GOAL := demo

demo: $(VENV) $(JAR)  ## TPC-H without and with Springbok: make demo SCALE=10 QUERIES=q3,q5 RUNS=3
	$(BIN)/python -m springbok demo --scale $(SCALE) --queries $(QUERIES) --runs $(RUNS)

test: lint test-scala test-python  ## lint, Scala tests, Python tests

lint: $(VENV)  ## formatting, warnings, types, of both halves
	$(BIN)/ruff check python tests tools
	$(BIN)/ruff format --check python tests tools
	$(BIN)/mypy
	$(PYTHON) tools/sbt.py scalafmtCheckAll scalafmtSbtCheck "scalafixAll --check" Test/compile

test-scala:
	$(PYTHON) tools/sbt.py test

test-python: $(VENV) $(JAR)
	$(BIN)/python -m pytest

format: $(VENV)  ## rewrite the sources as lint wants them
	$(BIN)/ruff check --fix python tests tools
	$(BIN)/ruff format python tests tools
	$(PYTHON) tools/sbt.py scalafmtAll scalafmtSbt scalafixAll

docs:  ## docs/configs.md, docs/reasons.md and the settings that Python knows, from the JVM half
	$(PYTHON) tools/sbt.py "springbok/Test/runMain org.apache.spark.sql.springbok.WriteDocs"

bench: $(VENV) $(JAR)  ## the demo's queries, three timed runs each, figures into benchmarks/results
	$(BIN)/python -m springbok demo --scale $(SCALE) --queries $(QUERIES) --runs 3 --master 'local[2]' \
	  --json benchmarks/results/tpch-sf$(SCALE).json

wheel: $(VENV)  ## a wheel with its jar, in dist/
	$(BIN)/python -m build --wheel --outdir dist .

build: $(JAR)  ## the jar, in python/springbok/jars

$(JAR): $(JAR_SOURCES) | $(VENV)
	$(PYTHON) tools/jar.py
	@touch $@

$(VENV): pyproject.toml tools/hatch_build.py
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[demo,dev]'
	@touch $@

clean:
	rm -rf .venv .cache target jvm/target project/target project/project python/springbok/jars dist
