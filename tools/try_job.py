"""A star join that tries an installed wheel, for tools/try_wheel.sh.

`session FOLDER` makes a session with `configure` and checks report, comparison and answers. `submit FOLDER` is a job of
spark-submit that knows nothing of the Python package. The tables are made in the folder.
"""

from __future__ import annotations

import sys
import warnings

from pyspark.sql import DataFrame, SparkSession

_SQL = """SELECT a.g, sum(v) AS s, count(*) AS n FROM facts JOIN a ON facts.a = a.k JOIN b ON facts.b = b.k
WHERE a.g < 3 AND b.g = 7 GROUP BY a.g ORDER BY a.g"""


def star(spark: SparkSession, folder: str) -> DataFrame:
    """The query; the first call for a folder writes its tables."""
    facts = spark.range(200000).selectExpr("id % 1000 AS a", "id % 77 AS b", "id AS v")
    dimensions = {
        name: spark.range(1000).selectExpr("id AS k", f"id % {m} AS g") for name, m in (("a", 100), ("b", 20))
    }
    for name, made in {"facts": facts, **dimensions}.items():
        path = f"{folder}/{name}"
        made.write.mode("ignore").parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(name)
    return spark.sql(_SQL)


def session(folder: str) -> None:
    """What a user does with the package."""
    import springbok

    warnings.simplefilter("error", UserWarning)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = springbok.configure(builder, runtimeFilter_minBenefitMs=0, planning_budget=0).getOrCreate()
    df = star(spark, folder)
    on = df.collect()
    report = springbok.report(df)
    print(report)
    with springbok.disabled(spark):
        off = star(spark, folder).collect()
    assert on == off and len(on) == 3, (on, off)
    assert report.state == "executed" and not report.failures, report
    assert len(report.joins) == 2 and all(j.reason for j in report.joins), report.joins
    used = [f for f in report.filters if f.status == "used"]
    assert used and sum(f.rows_removed or 0 for f in used) > 0, report.filters
    assert springbok.compare(star(spark, folder), run=True).equal
    assert springbok.last_reports(spark)
    print(f"springbok {springbok.__version__} on Spark {spark.version}: equal answers, {len(used)} runtime filter used")
    spark.stop()


def submit(folder: str) -> None:
    """What spark-submit runs."""
    spark = SparkSession.builder.getOrCreate()
    df = star(spark, folder)
    on = df.collect()
    plan = str(df._jdf.queryExecution().executedPlan().toString())
    spark.conf.set("spark.springbok.enabled", "false")
    off = star(spark, folder).collect()
    assert on == off and len(on) == 3, (on, off)
    assert "RuntimeFilter" in plan, plan
    assert "springbok" not in sys.modules
    print(f"spark-submit on Spark {spark.version}: equal answers, a runtime filter in the plan")
    spark.stop()


if __name__ == "__main__":
    {"session": session, "submit": submit}[sys.argv[1]](sys.argv[2])
