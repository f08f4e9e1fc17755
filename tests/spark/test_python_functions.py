"""Functions of Python around joins: they are not Catalyst's own."""

from __future__ import annotations

import pandas as pd
import springbok
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, udf


def test_a_grouped_aggregate_of_pandas_above_a_join(spark: SparkSession) -> None:
    @pandas_udf("double")  # type: ignore[call-overload]
    def mean(values: pd.Series) -> float:
        return float(values.mean())

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
