package org.apache.spark.sql.springbok.stats.source

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.datasources.CatalogFileIndex
import org.apache.spark.sql.springbok.SpringbokTest
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

/** Which listings of a table are kept, and for how long. */
class PartitionListingSuite extends SpringbokTest with Eventually {
  private def create(name: String): Unit =
    spark.sql(
      s"CREATE TABLE $name USING parquet PARTITIONED BY (p) LOCATION '${folder.resolve(name)}' " +
        "AS SELECT id, id % 3 AS p FROM range(9)"
    ): Unit

  private def index(name: String): CatalogFileIndex =
    new CatalogFileIndex(spark, spark.sessionState.catalog.getTableMetadata(TableIdentifier(name)), 0)

  test("sessions with an index of their own of a table made each other list its partitions again") {
    create("listed")
    val (one, other) = (index("listed"), index("listed"))
    assert(one == other)
    val first = PartitionListing.of(one).get
    assert(PartitionListing.of(other).exists(_ ne first))
    assert(PartitionListing.of(one).exists(_ eq first))
    spark.sql("DROP TABLE listed"): Unit
  }

  // One failure of the catalog left a table without statistics for ten minutes.
  test("a catalog that failed once was not asked again for minutes") {
    create("failing")
    val failing = index("failing")
    spark.sql("DROP TABLE failing"): Unit
    assert(PartitionListing.of(failing).isEmpty)
    spark.sql(
      s"CREATE TABLE failing (id BIGINT, p BIGINT) USING parquet PARTITIONED BY (p) LOCATION '${folder.resolve("failing")}'"
    ): Unit
    eventually(timeout(Span(60, Seconds)), interval(Span(200, Millis))) {
      assert(PartitionListing.of(failing).isDefined)
    }
    spark.sql("DROP TABLE failing"): Unit
  }

  test("an index is known by itself, not by what it equals") {
    val known = ByIdentity[String, Integer]()
    val (one, other) = (new String("name"), new String("name"))
    known.put(one, 1)
    assert(known.getIfPresent(one) == 1 && known.getIfPresent(other) == null)
    known.put(other, 2)
    known.put(one, 3)
    assert(known.getIfPresent(one) == 3 && known.getIfPresent(other) == 2)
  }
}
