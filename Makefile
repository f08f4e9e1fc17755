# Springbok: everything that a person or CI runs. Needs Python 3.10+ and JDK 17; fetches the rest.
SCALE ?= 1
QUERIES ?= all
RUNS ?= 1
SUITE ?= tpch
LAYOUT ?= plain
ARMS ?= spark,springbok
# Further options of `python -m benchmarks run`, for example MORE='--keep --memory 8g'.
MORE ?=
SEEDS ?= 1-100
PYTHON ?= python3
BIN := .venv/bin
BENCHMARKS := $(BIN)/python -m benchmarks
AUDIT := .cache/audit.txt
QA := PYTHONPATH=tests:tools:. $(BIN)/python -m qa
# The Spark lines that `make jars` builds for.
LINES ?= all
LINE ?= current
# The tag of the Scala tests that `make test` leaves out.
SLOW := org.apache.spark.sql.springbok.Slow
LINT_SCALA := scalafmtCheckAll scalafmtSbtCheck "scalafixAll --check"
# What the files below stand for is up to date; nothing is built or fetched twice.
VENV := .venv/.installed
DEMO := .venv/.demo
BENCH := .venv/.bench
SITE := .venv/.site
JAR_SOURCES := $(shell find jvm/src/main -type f) build.sbt project/build.properties project/plugins.sbt $(wildcard project/*.scala) VERSION LICENSE NOTICE
JAR := .venv/.jar

.PHONY: help audit test-matrix smoke fuzz spark-suites demo test test-all test-rest test-slow test-scala test-scala-rest test-scala-slow test-python test-python-slow lint lint-python format docs site tour build bench bench-joins bench-check bench-scale bench-planning bench-estimates bench-bloom bench-far bench-duckdb bench-page wheel jars staging reproduce clean
.DEFAULT_GOAL := demo

help:  ## this list
	@sed -nE 's/^([a-z-]+)( [a-z-]+)?:.*  ## (.*)/\1\2\t\3/p' $(MAKEFILE_LIST) | sort | expand -t 30

demo:  ## TPC-H without and with Springbok: make demo SCALE=10 QUERIES=q3,q5 RUNS=3
	@# sbt runs while pip downloads.
	$(MAKE) --no-print-directory --jobs=2 $(DEMO) $(JAR)
	$(BIN)/python -m springbok demo --scale $(SCALE) --queries $(QUERIES) --runs $(RUNS)

# Scala beside Python, since neither keeps two cores busy. Only one sbt runs at a time.
test: $(JAR)  ## lint and tests, the Scala half beside the Python half
	$(MAKE) --keep-going --jobs=2 test-scala test-python

test-all: test test-slow  ## every test

test-slow: $(JAR)  ## the tests that `make test` leaves out
	$(MAKE) --keep-going --jobs=2 test-scala-slow test-python-slow

test-rest: $(JAR)  ## what CI runs after `make test`: slow tests, smoke tests on LINES, and the jars of all lines
	$(MAKE) --keep-going --jobs=2 test-scala-rest test-python-slow

lint: lint-python  ## formatting, warnings, types, layers, of both halves
	$(PYTHON) tools/jar.py --sbt $(LINT_SCALA) Test/compile package
	@touch $(JAR)

lint-python: $(VENV)
	$(BIN)/ruff check python tests tools benchmarks
	$(BIN)/ruff format --check python tests tools benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/budget.py

# Lint and tests share a start of sbt.
test-scala:
	$(PYTHON) tools/sbt.py $(LINT_SCALA) "testOnly -- -l $(SLOW)"

test-scala-rest: test-scala-slow
	$(MAKE) smoke
	$(MAKE) jars LINES=all

test-scala-slow:
	$(PYTHON) tools/sbt.py "testOnly -- -n $(SLOW)"

test-python: lint-python $(JAR)
	$(BIN)/python -m pytest -m "not slow"

test-python-slow: $(VENV) $(JAR)
	$(BIN)/python -m pytest -m slow

format: $(VENV)  ## rewrite the sources as lint wants them
	$(BIN)/ruff check --fix python tests tools benchmarks
	$(BIN)/ruff format python tests tools benchmarks
	$(PYTHON) tools/sbt.py scalafmtAll scalafmtSbt scalafixAll

docs:  ## docs/configs.md, docs/reasons.md, docs/report.schema.json, and Python's settings and model, from the JVM half
	$(PYTHON) tools/sbt.py "springbok/Test/runMain org.apache.spark.sql.springbok.WriteDocs"
	$(PYTHON) tools/model.py

site: $(SITE)  ## the site of docs/, with search and the API reference, in target/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench bench-check: RUNS = 3
bench: $(BENCH) $(JAR)  ## make bench SUITE=tpcds SCALE=10 LAYOUT=clustered ARMS=spark,tuned,springbok RUNS=3 QUERIES=1-15
	$(BENCHMARKS) run $(SUITE) --scale $(SCALE) --layout $(LAYOUT) --arms $(ARMS) --runs $(RUNS) --queries $(QUERIES) $(MORE)

bench-check: $(BENCH) $(JAR)  ## the same; fails if a query lost more than its noise since the last committed run
	$(BENCHMARKS) run $(SUITE) --scale $(SCALE) --layout $(LAYOUT) --arms $(ARMS) --runs $(RUNS) --queries $(QUERIES) --check $(MORE)

bench-scale: $(BENCH) $(JAR)  ## the driver's work as clusters, plans and tables grow
	for study in build-tasks shuffle-writing planning-joins planning-files; do $(BENCHMARKS) $$study || exit 1; done

bench-planning bench-estimates: bench-%: $(BENCH) $(JAR)  ## planning time, and row estimates, of the TPC-DS queries
	$(BENCHMARKS) $* --queries $(QUERIES)

bench-bloom:  ## the bloom filter against Spark's own, in generated code
	$(PYTHON) tools/sbt.py "springbok/Test/runMain org.apache.spark.sql.springbok.keys.BloomBenchmark benchmarks/results/bloom.json"

bench-far:  ## what statistics add to planning where storage is far away
	$(PYTHON) tools/sbt.py "springbok/Test/runMain org.apache.spark.sql.springbok.stats.source.FarStorageBenchmark benchmarks/results/far-storage.json"

bench-duckdb: $(BENCH)  ## DuckDB on the files of a suite that `make bench` has run
	$(BENCHMARKS) duckdb $(SUITE) --scale $(SCALE) --layout $(LAYOUT) --runs $(or $(RUNS),3)

bench-page: $(BENCH)  ## benchmarks/results/README.md and its charts, from the figures beside it
	$(BENCHMARKS) page

audit: UNREACHABLE = fails
audit: $(VENV)  ## known vulnerabilities of the installed packages; UNREACHABLE=passes where the advisory database cannot be reached
	@mkdir -p .cache && rm -f $(AUDIT)
	@# pip-audit fails in both cases, but writes its findings only if it has reached the database.
	@$(BIN)/pip-audit --skip-editable --timeout 15 --progress-spinner off --output $(AUDIT) || \
	    if test -s $(AUDIT); then cat $(AUDIT); exit 1; \
	    else echo "Nothing was audited: the advisory database cannot be reached."; test $(UNREACHABLE) = passes; fi

fuzz: $(VENV) $(JAR)  ## random queries, with and without Springbok and by DuckDB: make fuzz SEEDS=1-100
	$(QA).fuzz --seeds $(SEEDS)

spark-suites: $(VENV) $(JAR)  ## Spark's own suites with Springbok loaded; results in docs/spark-suites.json
	$(QA).spark_suites --line $(LINE) $(SUITES)

test-matrix: $(VENV)  ## the tests on every Spark line; the table is in docs/use/spark-versions.md; WHOLE=--whole for all Scala tests
	$(QA).matrix $(WHOLE) $(LINES)

smoke: $(VENV)  ## one Scala test of each rule and operator, on every Spark line
	$(QA).matrix --smoke $(LINES)

bench-joins: $(BENCH) $(JAR)  ## the chosen join strategy against every hinted one
	$(BENCHMARKS) join-choice

tour: $(VENV) $(JAR)  ## run docs/tour.ipynb anew, and take the pictures in docs/
	$(BIN)/python tools/tour.py
	SPRINGBOK_PICTURES=docs/pictures $(BIN)/python -m pytest -m slow tests/ui/test_pictures.py

wheel: $(VENV)  ## a wheel with the jars of all Spark lines, in dist/
	SPRINGBOK_LINES=all $(BIN)/python -m build --wheel --outdir dist .

build: $(JAR)  ## the jar for the Spark that the tests run on, in python/springbok/jars

jars:  ## the jars for all Spark lines, or make jars LINES="3.5_2.12 4.1", in python/springbok/jars
	$(PYTHON) tools/jar.py $(LINES)

staging:  ## jars, sources, Scaladoc and POMs of all lines, as Maven Central takes them, in target/sona-staging
	rm -rf target/sona-staging
	$(PYTHON) tools/jar.py --each -Dtests=false springbok/publish

reproduce:  ## the jar of the last commit twice, which must have the same bytes
	bash tools/reproduce.sh

$(JAR): $(JAR_SOURCES)
	$(PYTHON) tools/jar.py
	@mkdir -p $(@D) && touch $@

# The package as it is in the repository, without a jar.
INSTALL = test -x $(BIN)/python || $(PYTHON) -m venv .venv; SPRINGBOK_LINES= $(BIN)/python -m pip install -q --disable-pip-version-check -e

# What contributors have serves the demo too, and must not change its PySpark.
$(DEMO): pyproject.toml
	test -e $(VENV) || { $(INSTALL) '.[spark,demo]'; }
	@touch $@

# The site needs neither PySpark nor a jar: docstrings are read, not run.
$(SITE): pyproject.toml
	$(INSTALL) '.[site]'
	@touch $@

$(VENV): pyproject.toml tools/hatch_build.py
	$(INSTALL) '.[demo,dev]'
	@touch $@

$(BENCH): $(VENV)
	$(INSTALL) '.[demo,dev,bench]'
	@touch $@

clean:
	rm -rf .venv .cache target jvm/target project/target project/project python/springbok/jars dist
