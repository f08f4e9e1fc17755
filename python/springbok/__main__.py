"""`python -m springbok`: reports of queries, the demo, Spark's settings, the jar's path, the doctor, event logs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from springbok import __version__, jar
from springbok.cli import conf, demo, doctor, explain, fleet, qualify
from springbok.errors import CheckFailed, SpringbokError

_COMMANDS = {"conf": conf, "demo": demo, "explain": explain, "fleet": fleet, "qualify": qualify}


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    0: done. 1: answers of the demo differ, the doctor found something that must be fixed, or a plan violates what
    `explain --check` asks for. 2: the command cannot run.
    """
    args = _parser().parse_args(argv)
    try:
        if args.command == "jar":
            print(jar.jar_path(args.spark, args.scala))
            return 0
        if args.command == "doctor":
            return doctor.run()
        run: Callable[[argparse.Namespace], int] = _COMMANDS[args.command].run
        return run(args)
    except SpringbokError as e:
        print(f"springbok: {e}", file=sys.stderr)
        # A plan that a check refuses is no wrong use of the command.
        return 1 if isinstance(e, CheckFailed) else 2


class _Version(argparse.Action):
    """Reads the jar only if it is asked to."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(jar.build() or __version__)
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="springbok", description="The join planning of an MPP engine for Spark SQL.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print version and commit")
    commands = parser.add_subparsers(dest="command", required=True)
    path = commands.add_parser("jar", help="print the path of the jar, for spark-submit --jars")
    conf.of_spark(path)
    conf.arguments(commands.add_parser("conf", help="print the settings that switch Springbok on, for a platform"))
    demo.arguments(commands.add_parser("demo", help="run TPC-H without and with Springbok and compare"))
    explain.arguments(commands.add_parser("explain", help="print the strategy report of a query on files"))
    qualify.arguments(commands.add_parser("qualify", help="say what Springbok would save, by Spark's event logs"))
    fleet.arguments(commands.add_parser("fleet", help="say what Springbok did, by its reports in event logs"))
    commands.add_parser("doctor", help="check whether Springbok can work here, and say what to do")
    return parser


if __name__ == "__main__":
    sys.exit(main())
