"""What report(df) takes beyond planning, for a query of ten joins: `python benchmarks/report_time.py TPCH_FOLDER`."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import springbok
from springbok import tpch
from springbok.session import local_session

SQL = """
SELECT n1.n_name, r1.r_name, sum(l_extendedprice) AS price
FROM lineitem
  JOIN orders ON l_orderkey = orders.o_orderkey
  JOIN customer ON orders.o_custkey = c_custkey
  JOIN nation n1 ON c_nationkey = n1.n_nationkey
  JOIN region r1 ON n1.n_regionkey = r1.r_regionkey
  JOIN supplier ON l_suppkey = s_suppkey
  JOIN nation n2 ON s_nationkey = n2.n_nationkey
  JOIN region r2 ON n2.n_regionkey = r2.r_regionkey
  JOIN part ON l_partkey = p_partkey
  JOIN partsupp ON ps_partkey = p_partkey AND ps_suppkey = s_suppkey
  JOIN orders o2 ON o2.o_custkey = c_custkey
WHERE orders.o_orderdate < DATE '1992-02-01' AND p_size < 5
GROUP BY n1.n_name, r1.r_name
"""


def main() -> None:
    """Medians in ms: planning a new DataFrame of the query, its first report, reports after that."""
    spark = local_session("local[2]", "1g", "springbok-report-time")
    tpch.load(spark, Path(sys.argv[1]))
    plan, first, again = [], [], []
    for i in range(25):
        df = spark.sql(SQL)
        start = time.perf_counter()
        df._jdf.queryExecution().executedPlan()
        planned = time.perf_counter()
        r = springbok.report(df)
        reported = time.perf_counter()
        springbok.report(df)
        end = time.perf_counter()
        assert len(r.joins) == 10
        if i >= 5:  # the JVM compiles for a while
            plan.append(planned - start)
            first.append(reported - planned)
            again.append(end - reported)
    for name, times in (("planning", plan), ("first report", first), ("next report", again)):
        print(f"{name}: median {statistics.median(times) * 1000:.0f} ms, worst {max(times) * 1000:.0f} ms")
    spark.stop()


if __name__ == "__main__":
    main()
