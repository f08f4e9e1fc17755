"""Revenue of one city's shops. Run it from an empty folder with Springbok, without it, and compare:

    eval "$(springbok conf --format submit planning.budget=0)" job.py
    spark-submit job.py
"""

from __future__ import annotations

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("revenue").getOrCreate()
spark.range(5_000_000).selectExpr("id AS cents", "id % 1000 AS shop").write.parquet("sales", "overwrite")
spark.range(1000).selectExpr("id AS shop", "id % 50 AS city").write.parquet("shops", "overwrite")
revenue = spark.sql(
    "SELECT shop, sum(cents) FROM parquet.sales JOIN parquet.shops USING (shop) WHERE city = 7 GROUP BY shop ORDER BY shop"
)
revenue.show()
# From Spark 4.0 on, with Springbok's section.
revenue.explain()
spark.stop()
