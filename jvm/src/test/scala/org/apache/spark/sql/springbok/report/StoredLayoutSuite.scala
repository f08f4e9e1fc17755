package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.report.model._
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.ChunkedSource

class StoredLayoutSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for ((database, buckets) <- Seq("layout_a" -> 8, "layout_b" -> 4)) {
      spark.sql(s"CREATE DATABASE $database"): Unit
      spark.sql(
        s"CREATE TABLE $database.t USING parquet CLUSTERED BY (k) SORTED BY (k) INTO $buckets BUCKETS " +
          "AS SELECT id AS k, id % 10 AS v FROM range(1000)"
      ): Unit
    }
    table("facts", "SELECT id % 1000 AS k, id AS w FROM range(100000)")
    table("plain", "SELECT id AS k, id AS w FROM range(1000)")
  }

  override protected def afterAll(): Unit = {
    for (database <- Seq("layout_a", "layout_b")) spark.sql(s"DROP DATABASE $database CASCADE"): Unit
    super.afterAll()
  }

  private def report(sql: String): QueryReport = SpringbokReport.of(execution(spark.sql(sql)))

  private def keys(r: QueryReport): Seq[Seq[KeyColumnEntry]] =
    Seq(r.joins.head.left.keys, r.joins.head.right.keys)

  test("tables of one name are told apart, with their buckets") {
    val r = report("SELECT l.v FROM layout_a.t l JOIN layout_b.t r ON l.k = r.k")
    assert(
      r.tables.map(_.id) == Seq(0, 1) && r.tables.forall(t => t.name.contains("t") && t.source == "files")
    )
    assert(r.tables.flatMap(_.qualifiedName) == Seq("layout_a.t", "layout_b.t"))
    assert(
      r.tables.flatMap(_.bucketing) ==
        Seq(BucketingEntry(Seq("k"), 8, Seq("k")), BucketingEntry(Seq("k"), 4, Seq("k")))
    )
    assert(r.joins.head.left.tables == Seq(0L) && r.joins.head.right.tables == Seq(1L))
    assert(r.effective("spark.sql.sources.bucketing.enabled") == "true")
  }

  test("keys come from columns, also under other names, or from a table alone") {
    val renamed = report(
      "SELECT x.j, p.w FROM (SELECT k AS j, count(*) AS n FROM layout_a.t GROUP BY k) x JOIN plain p ON x.j = p.k"
    )
    assert(
      keys(renamed) == Seq(Seq(KeyColumnEntry(Some(0L), Some("k"))), Seq(KeyColumnEntry(Some(1L), Some("k"))))
    )
    assert(renamed.tables(1).qualifiedName.isEmpty && renamed.tables(1).bucketing.isEmpty)
    val computed = report("SELECT l.v FROM layout_a.t l JOIN plain p ON l.k + l.v = p.k")
    assert(keys(computed).head == Seq(KeyColumnEntry(Some(0L), None)))
    val mixed = report(
      "SELECT a.v FROM layout_a.t a JOIN layout_b.t b ON a.v = b.v JOIN plain p ON a.k + b.k = p.k"
    )
    val outer = mixed.joins.find(j => (j.left.tables ++ j.right.tables).size == 3).get
    assert((outer.left.keys ++ outer.right.keys).contains(KeyColumnEntry(None, None)))
  }

  test("tables of connectors have their transforms, and the partitions that their scans report") {
    for ((name, grouped) <- Seq("stored" -> "true", "silent" -> "false")) {
      val reader = spark.read.format(classOf[ChunkedSource].getName).option("grouped", grouped)
      reader.load().createOrReplaceTempView(name)
    }
    val r = report("SELECT l.id, r.v FROM stored l JOIN silent r ON l.chunk = r.chunk WHERE l.id = 3")
    assert(r.tables.forall(_.source == "connector"))
    assert(
      r.tables.map(_.storedBy).distinct == Seq(Seq(TransformEntry("identity", Seq("chunk"), Nil, "chunk")))
    )
    assert(r.tables.map(_.storedPartitions) == Seq(Some(ChunkedSource.chunks.toLong), None))
  }

  test("filters name their target by its id, and say when its scan starts") {
    val sql = "SELECT f.w FROM facts f JOIN plain p ON f.k = p.k WHERE p.w < 10"
    conf(shuffled: _*) {
      val r = report(sql)
      val f = r.filters.find(_.id.isDefined).get
      assert(f.targetId.contains(0L) && f.timing.exists(Set("waits", "late")))
      assert(f.expectedBenefitMs.exists(_ >= 0) && f.expectedIdleMs.exists(_ >= 0))
    }
    assert(report(sql).filters.flatMap(_.timing).forall(_ == "local"))
  }
}
