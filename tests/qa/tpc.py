"""`python -m qa.tpc DATA QUERIES`: TPC queries answered with Springbok, without it and by DuckDB.

DATA holds one Parquet file or folder a table, QUERIES one `.sql` file a query, or is a jar with them under `tpcds/`.
A last LIMIT is left out: with ties it has many right answers.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.suites import for_duckdb
from qa.fuzz import engine


def texts(path: Path) -> dict[str, str]:
    """Query texts by name."""
    if path.suffix == ".jar":
        with zipfile.ZipFile(path) as z:
            found = {Path(n).stem: z.read(n).decode() for n in z.namelist() if re.fullmatch(r"tpcds/[^/]+\.sql", n)}
    else:
        found = {p.stem: p.read_text() for p in path.glob("*.sql")}
    texts = {n: re.sub(r"(?is)\s+limit\s+\d+\s*;?\s*$", "", t.strip().rstrip(";")) for n, t in found.items()}
    return dict(sorted(texts.items(), key=lambda i: [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", i[0])]))


def close(a: Counter[Any], b: Counter[Any]) -> bool:
    """Equal but for the last digits of floating point."""
    if a == b:
        return True
    rows = [sorted(c.elements(), key=repr) for c in (a, b)]
    return len(rows[0]) == len(rows[1]) and all(map(_near, *rows))


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_near, a, b))
    try:
        return a == b or abs(float(a) - float(b)) <= 1e-6 * max(1.0, abs(float(a)))
    except (TypeError, ValueError):
        return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="qa.tpc", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no query after that")
    parser.add_argument("--done", type=Path, help="file of the queries that were answered, to go on from")
    args = parser.parse_args()
    done: dict[str, str] = json.loads(args.done.read_text()) if args.done and args.done.exists() else {}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        spark = engine.session(Path(folder))
        duck = duckdb.connect(config={"threads": 1, "memory_limit": "2GB"})
        for table in sorted(args.data.iterdir()):
            name = table.name.removesuffix(".parquet")
            spark.read.parquet(str(table)).createOrReplaceTempView(name)
            duck.execute(f"CREATE VIEW {name} AS FROM '{table}{'/*.parquet' if table.is_dir() else ''}'")
        for name, sql in texts(args.queries).items():
            if (args.only and name not in args.only.split(",")) or name in done:
                continue
            if (time.monotonic() - start) / 60 > args.minutes:
                break
            try:
                off = engine.rows(spark, sql, {engine.ON: "false"}, 300)
                on = engine.rows(spark, sql, {}, 300)
            except (engine.Failed, engine.TooLong) as e:
                done[name] = f"FAILED {type(e).__name__} {str(e)[:500]}"
            else:
                try:
                    other = Counter(engine.normal(r) for r in duck.execute(for_duckdb(sql)).fetchall())
                    third = "equal" if close(off, other) else "DIFFERENT"
                except duckdb.Error as e:
                    third = f"refuses: {str(e)[:80]}"
                done[name] = f"{'equal' if close(off, on) else 'DIFFERENT'}, DuckDB {third}, {off.total()} rows"
            print(name, done[name], flush=True)
            if args.done:
                args.done.write_text(json.dumps(done, indent=1))
        spark.stop()
    return 1 if any("DIFFERENT," in d or d.startswith("FAILED") for d in done.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
