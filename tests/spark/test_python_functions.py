"""Functions of Python around joins: they are not Catalyst's own."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import springbok
from pyspark.sql import Column, SparkSession, Window
from pyspark.sql.functions import udf, udtf
from pyspark.sql.pandas.functions import pandas_udf


def of_group(values: pd.Series) -> float:
    return float(values.mean())


def mean(column: str) -> Column:
    """The mean of a group's values, as pandas computes it."""
    return pandas_udf(of_group, "double")(column)  # type: ignore[call-overload, no-any-return]


def test_a_grouped_aggregate_of_pandas_above_a_join(spark: SparkSession) -> None:
    left = spark.range(1000).selectExpr("id % 10 AS k", "id AS v")
    joined = left.join(spark.range(5).withColumnRenamed("id", "k"), "k")
    means = joined.groupBy("k").agg(mean("v").alias("m"))
    assert sorted(means.collect()) == sorted(joined.groupBy("k").avg("v").collect())
    assert not springbok.report(means).failures


def test_a_key_that_python_computes(spark: SparkSession) -> None:
    half = udf(lambda n: n // 2, "bigint")
    left = spark.range(1000).select(half("id").alias("k"))
    joined = left.join(spark.range(5).withColumnRenamed("id", "k"), "k")
    assert joined.count() == 10
    assert not springbok.report(joined).failures


def test_functions_of_python_in_other_places(spark: SparkSession) -> None:
    class Twice:
        def eval(self, n: int) -> Iterator[tuple[int]]:
            yield (n * 2,)

    spark.udtf.register("twice", udtf(Twice, returnType="twice bigint"))  # type: ignore[arg-type]
    left = spark.range(1000).selectExpr("id % 10 AS k", "id AS v")
    right = spark.range(5).withColumnRenamed("id", "k")
    joined = left.join(right, "k")
    joined.createOrReplaceTempView("joined")
    grouped = joined.groupBy("k")
    queries = [
        joined.withColumn("m", mean("v").over(Window.partitionBy("k"))),
        joined.join(grouped.agg(mean("v").alias("m")), "k").where("m > 497.5"),
        joined.join(grouped.agg(mean("v").cast("bigint").alias("v")), ["k", "v"], "left_semi"),
        grouped.applyInPandas(lambda rows: rows.head(1), "k bigint, v bigint").join(right, "k"),
        grouped.cogroup(right.groupBy("k")).applyInPandas(lambda a, b: a.head(len(b)), "k bigint, v bigint"),
        spark.sql("SELECT * FROM joined, LATERAL twice(v) t JOIN range(50) r ON t.twice = r.id"),
    ]
    for df, rows in zip(queries, [500, 200, 0, 5, 5, 15], strict=True):
        assert df.count() == rows
        assert not springbok.report(df).failures
        with springbok.disabled(spark):
            expected = sorted(df.select("*").collect())
        assert sorted(df.select("*").collect()) == expected
