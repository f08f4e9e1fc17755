"""`python -m springbok`: explain a query, the demo, the jar's path, and the doctor."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from springbok.errors import SpringbokError
from springbok.session import jar_path
from springbok.version import __version__


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    0: done; 1: a demo whose answers differ, or a doctor that found what must be mended; 2: what cannot be done.
    """
    parser = argparse.ArgumentParser(prog="springbok", description="The join planning of an MPP engine for Spark SQL.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("jar", help="print the path of the jar, for spark-submit --jars")
    demo = commands.add_parser("demo", help="run TPC-H without and with Springbok and compare")
    demo.add_argument("--scale", type=float, default=1, help="TPC-H scale factor, 1 is about 1 GB (default: 1)")
    demo.add_argument("--queries", default="all", help="for example q3,q5 (default: all)")
    demo.add_argument("--runs", type=int, default=1, help="timed runs of each query, of which the median counts")
    demo.add_argument("--data", type=Path, default=Path("data"), help="where the generated data is kept")
    demo.add_argument("--master", default="local[*]", help="Spark master (default: local[*])")
    demo.add_argument("--memory", default="", help="driver memory, for example 8g (default: half of this machine's)")
    demo.add_argument("--json", type=Path, help="also write the table's figures to this file")
    explain = commands.add_parser("explain", help="print the strategy report of a query on files")
    explain.add_argument("--sql", required=True, help="file with the query, - for standard input")
    explain.add_argument("--data", type=Path, required=True, help="folder with a file or folder for each table")
    explain.add_argument("--run", action="store_true", help="run the query first and report what was observed")
    explain.add_argument("--html", type=Path, help="also write the report as a page")
    explain.add_argument("--json", action="store_true", help="print JSON (docs/report.schema.json) instead of text")
    explain.add_argument("--master", default="local[*]", help="Spark master (default: local[*])")
    explain.add_argument("--memory", default="", help="driver memory (default: 2g)")
    commands.add_parser("doctor", help="look whether Springbok can work here, and say what to do")
    args = parser.parse_args(argv)
    try:
        if args.command == "jar":
            print(jar_path())
            return 0
        if args.command == "doctor":
            from springbok import doctor

            return doctor.run()
        if args.command == "explain":
            from springbok import explain as explaining

            return explaining.run(args)
        from springbok.demo import run

        return run(args)
    except SpringbokError as e:
        print(f"springbok: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
