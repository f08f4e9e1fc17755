package org.apache.spark.sql.springbok.stats.history

import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.IcebergTest

/** What tells one state of an Iceberg table from another. */
class IcebergHistorySuite extends IcebergTest {
  private def fingerprint(sql: String): Option[InputFingerprint] =
    execution(spark.sql(sql)).optimizedPlan.collectLeaves().flatMap(InputFingerprint.of(_)).headOption

  // The size of the columns that a query reads was once part of the fingerprint.
  test("a table is the same for queries that read other columns, and another one in another snapshot") {
    iceberg("kept")
    val before = fingerprint("SELECT id FROM ice.db.kept")
    assert(before.isDefined && before == fingerprint("SELECT id, name, code, price FROM ice.db.kept"))
    val first = spark.sql("SELECT snapshot_id FROM ice.db.kept.snapshots ORDER BY committed_at DESC").head().getLong(0)
    spark.sql("INSERT OVERWRITE ice.db.kept SELECT * FROM ice.db.kept"): Unit
    assert(fingerprint("SELECT id FROM ice.db.kept") != before)
    assert(fingerprint(s"SELECT id FROM ice.db.kept VERSION AS OF $first").map(_.state) == before.map(_.state))
  }
}
