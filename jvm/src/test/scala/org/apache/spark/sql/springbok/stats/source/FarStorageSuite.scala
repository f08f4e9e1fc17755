package org.apache.spark.sql.springbok.stats.source

import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.StatsConf

/** What planning asks of a store that is far away. */
class FarStorageSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.hadoop.fs.far.impl" -> classOf[FarFileSystem].getName,
    "spark.hadoop.fs.far.openMs" -> "0",
    "spark.hadoop.fs.far.listMs" -> "0"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("dim", "SELECT id AS k, id % 5 AS grp FROM range(50)")
  }

  private def planned(fact: String): Unit =
    executed(
      spark.sql(s"SELECT f.id FROM $fact f JOIN dim d ON f.k = d.k WHERE d.grp = 1 AND f.n = 'n3'")
    ): Unit

  for (files <- Seq(1, 100, 2000))
    test(s"planning opens a bounded number of $files files, once") {
      val name = s"fact$files"
      val sql = "SELECT id, id % 50 AS k, concat('n', id % 7) AS n FROM range(2000)"
      FarTable.view(spark, folder, FarTable.part(spark, folder.resolve(s"$name-one"), sql), name, files)
      FarFileSystem.reset()
      planned(name)
      // The dictionaries of the first and the last file are read after the footers.
      val footers = math.min(files, StatsConf.FOOTERS_MAX_FILES.defaultValue.get)
      assert(FarFileSystem.opens == footers + math.min(files, 2))
      planned(name)
      planned(name)
      assert(FarFileSystem.opens == footers + math.min(files, 2))
    }

  test("a filter on a scan does not break reads up into more requests than it saves") {
    val path = folder.resolve("groups")
    spark
      .sql("SELECT id, id % 97 AS v, concat('n', id) AS n FROM range(0, 200000, 1, 1)")
      .write
      .option("parquet.block.size", "100000")
      .option("parquet.block.row.count.limit", "10000")
      .parquet(path.toString)
    val schema = spark.read.parquet(path.toString).schema
    spark.read.schema(schema).parquet(s"far:$path").createOrReplaceTempView("groups")
    table("some", "SELECT id * 1000 + 5 AS id, id AS grp FROM range(200)")
    val sql = "SELECT g.id, g.n, s.grp FROM groups g JOIN some s ON g.id = s.id WHERE s.grp BETWEEN 20 AND 24"
    conf(shuffled: _*) {
      def asked[T](body: => T): (Long, Long) = {
        FarFileSystem.reset()
        body: Unit
        (FarFileSystem.requests.get, FarFileSystem.bytes.get)
      }
      same(sql): Unit
      val (off_, offBytes) = off(asked(spark.sql(sql).collect()))
      val (on, onBytes) = asked(spark.sql(sql).collect())
      assert(on <= off_ && onBytes < offBytes / 2, (off_, offBytes, on, onBytes))
    }
  }
}
