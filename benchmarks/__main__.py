"""`python -m benchmarks`: `run` a suite, a study by its name, or `page`; the Makefile has the usual commands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from springbok.errors import SpringbokError

from benchmarks import page, suites
from benchmarks.harness import check, data, formats, results, runner, timeline
from benchmarks.harness.arms import ARMS
from benchmarks.studies import STUDIES, Study

RESULTS = Path(__file__).resolve().parent / "results"


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    Returns 0; 1 if answers differ, a query failed or a query lost; 2 if the command cannot be run.
    """
    args = _parser().parse_args(argv)
    args.line = "python -m benchmarks " + " ".join(sys.argv[1:] if argv is None else argv)
    try:
        if args.command == "page":
            print(page.write(args.out))
            return 0
        return _run(args) if args.command == "run" else _study(args)
    except SpringbokError as e:
        print(f"benchmarks: {e}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="the queries of a suite in several arms")
    studies = [commands.add_parser(n, help=_first_line(s)) for n, s in STUDIES.items()]
    for command in (run, *studies):
        command.add_argument("--master", default="local[2]")
        command.add_argument("--memory", default="6g", help="the driver's heap")
        command.add_argument("--data", type=Path, default=Path("data"), help="where the generated data is kept")
    _run_arguments(run)
    for command, study in zip(studies, STUDIES.values(), strict=True):
        study.arguments(command)
    pages = commands.add_parser("page", help="the page and the charts of the results")
    for command in (run, *studies, pages):
        command.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    return parser


def _first_line(study: Study) -> str:
    return (study.__doc__ or "").splitlines()[0].replace("%", "%%")


def _run_arguments(run: argparse.ArgumentParser) -> None:
    run.add_argument("suite", choices=suites.SUITES)
    run.add_argument("--scale", type=float, default=1)
    run.add_argument("--layout", choices=data.LAYOUTS, default="plain")
    run.add_argument("--format", choices=formats.FORMATS, default="files", help="of the tables; all but files by Spark")
    run.add_argument("--runs", type=int, default=3, help="timed runs of each query in each arm")
    run.add_argument("--warmups", type=int, default=1, help="runs before them that are not timed")
    run.add_argument("--arms", default="spark,springbok", help=f"among {', '.join(ARMS)}; the first is the baseline")
    run.add_argument("--queries", default="all", help="names, or a range of positions such as 1-15")
    run.add_argument("--keep", action="store_true", help="keep the results of queries that are not run now")
    run.add_argument("--check", action="store_true", help="also compare with the last committed results")
    run.add_argument("--conf", action="append", default=[], help="key=value, for all arms")
    run.add_argument("--timeline", action="store_true", help="keep no figures: print when each stage of each run ran")


def _run(args: argparse.Namespace) -> int:
    arms = tuple(a.strip() for a in args.arms.split(","))
    unknown = [a for a in arms if a not in ARMS]
    if unknown:
        raise SpringbokError(f"There is no arm {', '.join(unknown)}: choose among {', '.join(ARMS)}.")
    if args.format not in ("files", "parquet") and any(ARMS[a].analyzed for a in arms):
        raise SpringbokError("Only Parquet tables are analyzed: choose arms without `tuned`.")
    e = runner.Experiment(args.suite, args.scale, args.layout, arms, args.data, args.runs, args.warmups, args.format)
    old = check.committed(args.out / f"{e.name}.json") if args.check else None
    queries = suites.chosen(args.suite, args.queries)
    asked = dict(kv.split("=", 1) for kv in args.conf)
    spark = runner.session(args.master, args.memory, formats.settings(e.form, e.source) | asked)
    try:
        runner.prepare(spark, e)
        if args.timeline:
            for line in timeline.lines(spark, e, queries):
                print(line, flush=True)
            return 0
        records = _measured(args, spark, e, queries)
    finally:
        spark.stop()
    bad = [r["query"] for r in records if r["answers"] == "DIFFERENT" or any("error" in a for a in r["arms"].values())]
    if bad:
        print(f"Answers differ or a query failed: {', '.join(bad)}")
    lost = check.losses(old, {"queries": records}) if old else []
    for loss in lost:
        print(f"Lost: {loss}")
    return 1 if bad or lost else 0


def _measured(
    args: argparse.Namespace, spark: Any, e: runner.Experiment, queries: dict[str, str]
) -> list[dict[str, Any]]:
    head = runner.header(e) | {"command": args.line, **results.machine(args.master, args.memory)}
    records: list[dict[str, Any]] = []
    for record in runner.measure(spark, e, queries):
        records.append(record)
        print(runner.line(record, e.arms), flush=True)
        # After every query, so that a long run that is stopped keeps what it has measured.
        results.save(args.out / f"{e.name}.json", head | {"queries": records}, args.keep)
    return records


def _study(args: argparse.Namespace) -> int:
    table = STUDIES[args.command].run(args)
    print(table.title)
    for row in table.rows:
        print(*row, sep="\t")
    results.save_table(table, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
