package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.springbok.{Smoke, SpringbokExtensions}

/**
 * Tables of Hudi, with updates and deletes in their base files (copy on write) or in logs beside them (merge on read). Spark
 * reads them as files, so a filter is one more condition of the scan. Hudi decides which conditions it applies to base files
 * whose rows have changes in logs.
 */
class HudiSuite extends FactAndDimTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.serializer" -> "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator" -> "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions" ->
      s"org.apache.spark.sql.hudi.HoodieSparkSessionExtension,${classOf[SpringbokExtensions].getName}",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "hoodie.insert.shuffle.parallelism" -> "2",
    "hoodie.upsert.shuffle.parallelism" -> "2",
    "hoodie.bulkinsert.shuffle.parallelism" -> "2",
    "hoodie.delete.shuffle.parallelism" -> "2"
  )

  private val columns = "id, id DIV 10 AS tens, lpad(id, 8, '0') AS code, 0 AS version, id DIV 1000 AS part"

  /** A table whose ids of 2000 to 2063 have moved: updated to another key, deleted, or new. */
  private def hudi(name: String, kind: String, clauses: String): Unit = {
    val location = folder.resolve("hudi").resolve(name)
    spark.sql(
      s"""CREATE TABLE $name (id BIGINT, tens BIGINT, code STRING, version INT, part BIGINT) USING hudi $clauses
         |TBLPROPERTIES (type = '$kind', primaryKey = 'id', preCombineField = 'version')
         |LOCATION '$location'""".stripMargin
    )
    spark.sql(s"INSERT INTO $name SELECT $columns FROM range(0, 10000, 1, 4)"): Unit
  }

  private def change(name: String): Unit = {
    // A key outside of the range that the base file has, and one inside that leaves it.
    spark.sql(s"UPDATE $name SET tens = 500000 + id, version = 1 WHERE id BETWEEN 2000 AND 2009")
    spark.sql(s"UPDATE $name SET tens = 205, version = 1 WHERE id BETWEEN 7000 AND 7004")
    spark.sql(s"DELETE FROM $name WHERE id BETWEEN 2030 AND 2034")
    spark.sql(
      s"""MERGE INTO $name t USING (SELECT id, grp, 2 AS version FROM dim WHERE k BETWEEN 2040 AND 2050) s ON t.id = s.id
         |WHEN MATCHED AND s.grp = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET tens = 206, code = 'new', version = s.version""".stripMargin
    ): Unit
  }

  private val kinds = for {
    kind <- Seq("cow", "mor")
    clause <- Seq("", "PARTITIONED BY (part)")
  } yield (kind + (if (clause.isEmpty) "" else "_parted"), kind, clause)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("dim", s"SELECT $columns, id AS k, id % 3 AS grp FROM range(10000)")
    // The keys that changes have given to rows, and those that they had.
    table(
      "keys",
      "SELECT id AS tens, id % 2 AS odd FROM range(200, 207) UNION ALL SELECT 500000 + id, 1 FROM range(2000, 2010)"
    )
    for ((name, kind, clause) <- kinds) {
      hudi(name, kind, clause)
      change(name)
    }
  }

  private def files(df: DataFrame): Long = collectWithSubqueries(executed(df)) {
    case s: FileSourceScanExec if !s.output.exists(a => a.name == "grp" || a.name == "odd") =>
      s.metrics("numFiles").value
  }.sum

  for ((name, kind, clause) <- kinds) {
    test(s"rows without a match do not reach the join: $name", Smoke) {
      for (column <- Seq("id", "code", "tens")) {
        val df = joined(name, column)
        assert(used(df).nonEmpty && passed(df) <= 64 && files(df) <= 2, why(df))
      }
    }

    test(s"keys that an update has moved: $name", Smoke) {
      conf(shuffled: _*) {
        for (where <- Seq("true", "d.tens > 1000", "d.tens IN (205, 206)", "d.odd = 1")) {
          val df =
            same(s"SELECT f.id, f.tens, f.version, d.odd FROM $name f JOIN keys d ON f.tens = d.tens WHERE $where")
          assert(used(df).nonEmpty, why(df))
        }
      }
    }

    test(s"what is written is the same as without Springbok: $name") {
      val off = s"${name}_off"
      this.off {
        hudi(off, kind, clause)
        change(off)
      }
      def rows(of: String) = sorted(spark.sql(s"SELECT id, tens, code, version, part FROM $of").collect())
      assert(rows(name) == rows(off) && rows(name).size < 10000)
    }
  }
}
