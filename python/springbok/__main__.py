"""`python -m springbok`: the jar's path, and the demo."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from springbok.errors import SpringbokError
from springbok.session import jar_path
from springbok.version import __version__


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 for a demo whose answers differ, 2 for what cannot be done."""
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
    args = parser.parse_args(argv)
    try:
        if args.command == "jar":
            print(jar_path())
            return 0
        from springbok.demo import run

        return run(args)
    except SpringbokError as e:
        print(f"springbok: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
