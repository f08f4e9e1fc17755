"""`python -m benchmarks run SUITE`, `scale` and `page`; see the Makefile for the variables."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from springbok.errors import SpringbokError

from benchmarks import check, data, duck, page, runner, scale, suites, timeline
from benchmarks.arms import ARMS

RESULTS = Path(__file__).resolve().parent / "results"


def main(argv: list[str] | None = None) -> int:
    """Run a command; 0, 1 for answers that differ, a failed query or a loss, 2 for what cannot be done."""
    parser = argparse.ArgumentParser(prog="benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="a suite's queries in several arms")
    other = commands.add_parser("duckdb", help="DuckDB on a suite's files, to compare with what `run` has measured")
    for command in (run, other):
        command.add_argument("suite", choices=suites.SUITES)
        command.add_argument("--scale", type=float, default=1)
        command.add_argument("--layout", choices=data.LAYOUTS, default="plain")
        command.add_argument("--runs", type=int, default=3, help="timed runs a query and arm")
        command.add_argument("--data", type=Path, default=Path("data"), help="where the generated data is kept")
    other.add_argument("--threads", type=int, default=2)
    run.add_argument("--arms", default="S,B", help=f"among {', '.join(ARMS)}; the first is compared with")
    run.add_argument("--warmups", type=int, default=1, help="runs before them")
    run.add_argument("--queries", default="all", help="names, or a range of positions such as 1-15")
    run.add_argument("--keep", action="store_true", help="keep the file's results of queries that are not run now")
    run.add_argument("--check", action="store_true", help="also compare with the last committed results")
    run.add_argument("--conf", action="append", default=[], help="key=value, for all arms")
    run.add_argument("--timeline", action="store_true", help="keep no figures: print when each stage of each run ran")
    growth = commands.add_parser("scale", help="the driver's work as clusters, plans and tables grow")
    for command in (run, growth):
        command.add_argument("--master", default="local[2]")
        command.add_argument("--memory", default="6g", help="the driver's heap")
    pages = commands.add_parser("page", help="the page and the plots of the results")
    for command in (run, other, growth, pages):
        command.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    args = parser.parse_args(argv)
    args.line = "python -m benchmarks " + " ".join(sys.argv[1:] if argv is None else argv)
    try:
        if args.command == "page":
            print(page.write(args.out))
            return 0
        return {"scale": _scale, "duckdb": _duckdb, "run": _run}[args.command](args)
    except SpringbokError as e:
        print(f"benchmarks: {e}", file=sys.stderr)
        return 2


def _run(args: argparse.Namespace) -> int:
    arms = tuple(a.strip() for a in args.arms.split(","))
    unknown = [a for a in arms if a not in ARMS]
    if unknown:
        raise SpringbokError(f"There is no arm {', '.join(unknown)}: choose among {', '.join(ARMS)}.")
    experiment = runner.Experiment(
        suite=args.suite,
        scale=args.scale,
        layout=args.layout,
        arms=arms,
        runs=args.runs,
        warmups=args.warmups,
        master=args.master,
        memory=args.memory,
        root=args.data,
        settings=dict(kv.split("=", 1) for kv in args.conf),
    )
    target = args.out / f"{experiment.name}.json"
    old = check.committed(target) if args.check else None
    queries = suites.chosen(args.suite, args.queries)
    spark = runner.session(experiment.master, experiment.memory, experiment.settings)
    try:
        runner.prepare(spark, experiment)
        if args.timeline:
            for line in timeline.lines(spark, experiment, queries):
                print(line, flush=True)
            return 0
        head = runner.header(experiment, spark, args.line)
        records: list[dict[str, Any]] = []
        for record in runner.measure(spark, experiment, queries):
            records.append(record)
            print(runner.line(record, arms), flush=True)
            # After every query: a long run that is stopped has not been for nothing.
            runner.save(target, head | {"queries": records}, args.keep)
    finally:
        spark.stop()
    bad = [r["query"] for r in records if r["answers"] == "DIFFERENT" or any("error" in a for a in r["arms"].values())]
    if bad:
        print(f"Answers differ or a query failed: {', '.join(bad)}")
    lost = check.losses(old, {"queries": records}) if old else []
    for loss in lost:
        print(f"Lost: {loss}")
    return 1 if bad or lost else 0


def _duckdb(args: argparse.Namespace) -> int:
    name = runner.name_of(args.suite, args.scale, args.layout)
    spark = args.out / f"{name}.json"
    if not spark.exists():
        raise SpringbokError(f"There is no {spark} to compare with: `make bench` makes it.")
    source = data.place(args.data, args.suite, args.scale, args.layout)
    measured = duck.measure(source, suites.queries(args.suite), args.runs, args.threads)
    head = {
        "title": f"DuckDB {measured['version']} on the files of {name}, {args.threads} threads",
        "command": args.line,
        "table": duck.table(measured, json.loads(spark.read_text(encoding="utf-8"))["queries"]),
    }
    runner.write(args.out / f"{name}-duckdb.json", head | measured)
    return 0


def _scale(args: argparse.Namespace) -> int:
    spark = runner.session(args.master, args.memory, {})
    try:
        with tempfile.TemporaryDirectory() as folder:
            tables = {
                "merging": ("Merging and sending filters", scale.merging(spark)),
                "writing": ("Writing a shuffle", scale.writing(spark)),
                "planning-joins": ("Planning and the number of joins", scale.planning_joins(spark, Path(folder))),
                "planning-files": ("Planning and the number of files", scale.planning_files(spark, Path(folder))),
            }
        where = runner.machine(spark, args.master, args.memory)
    finally:
        spark.stop()
    for name, (title, table) in tables.items():
        print(title, *table, sep="\n")
        runner.write(args.out / f"scale-{name}.json", {"title": title, "command": args.line, **where, "table": table})
    return 0


if __name__ == "__main__":
    sys.exit(main())
