package org.apache.spark.sql.springbok.rules.runtimefilters.plain

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.springbok.{AppliedRuntimeFilterExec, RuntimeFilterExec}
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.report.SpringbokReport

class PushFinishedKeysSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "facts",
      "SELECT id DIV 20 AS k, CAST(id DIV 20 AS INT) AS i, id AS v, nullif(id % 7, 0) AS n, CAST(id AS STRING) AS s FROM range(100000)"
    )
    table("keys", "SELECT id AS k, id DIV 50 AS g, CAST(id AS STRING) AS s FROM range(5000)")
    spark
      .sql("SELECT id % 100 AS v, id DIV 1000 AS p FROM range(100000)")
      .write
      .partitionBy("p")
      .saveAsTable("parted")
  }

  override protected def afterAll(): Unit =
    try spark.sql("DROP TABLE IF EXISTS parted"): Unit
    finally super.afterAll()

  private def plain[T](body: => T): T = conf(FilterConf.MODE.key -> "PLAIN")(body)

  private def scan(df: DataFrame, column: String): FileSourceScanExec =
    find(executed(df)) {
      case f: FileSourceScanExec => f.output.exists(_.name == column); case _ => false
    }.get
      .asInstanceOf[FileSourceScanExec]

  /** The query gives the same rows, and the plan has no operator of Springbok. */
  private def planned(sql: String): DataFrame = {
    val df = same(sql)
    assert(
      find(executed(df)) {
        case _: RuntimeFilterExec | _: AppliedRuntimeFilterExec => true
        case _ => false
      }.isEmpty,
      executed(df)
    )
    df
  }

  test("a scan gets ranges of the keys of a finished broadcast", Smoke) {
    plain {
      val df = planned("SELECT count(*), sum(v) FROM facts f JOIN keys k ON f.k = k.k WHERE k.g = 3")
      val filters = scan(df, "v").dataFilters.mkString
      assert(filters.contains(">= 150") && filters.contains("<= 199"), filters)
      val f = SpringbokReport.of(execution(df)).filters.filter(_.status == "used")
      assert(f.map(_.pushed) == Seq(Some("predicate")) && f.head.kinds == Seq("ranges"), f)
    }
  }

  test("a partition column gets the list") {
    plain {
      val df =
        planned("SELECT count(*), sum(v) FROM parted f JOIN keys k ON f.p = k.k WHERE k.s IN ('3', '77')")
      assert(scan(df, "v").metrics("numFiles").value < 20, executed(df))
    }
  }

  /** How many keys were pushed. */
  private def pushed(df: DataFrame): Int =
    SpringbokReport.of(execution(df)).filters.count(_.pushed.contains("predicate"))

  test("joins that drop unmatched rows, through operators that a filter may pass", Slow) {
    val k = "(SELECT * FROM keys WHERE g = 3) k"
    plain {
      for (
        (sql, n) <- Seq(
          s"SELECT sum(v) FROM facts f LEFT SEMI JOIN $k ON f.k = k.k" -> 1,
          s"SELECT sum(v) FROM facts f RIGHT JOIN $k ON f.k = k.k" -> 0,
          s"SELECT sum(v) FROM facts f LEFT JOIN $k ON f.k = k.k" -> 0,
          s"SELECT sum(v) FROM facts f LEFT ANTI JOIN $k ON f.k = k.k" -> 0,
          s"SELECT sum(v) FROM (SELECT v, max(k) k FROM facts GROUP BY v) f JOIN $k ON f.k = k.k" -> 0,
          s"SELECT sum(v) FROM (SELECT k, v FROM facts ORDER BY v LIMIT 5000) f JOIN $k ON f.k = k.k" -> 0,
          s"SELECT sum(v) FROM (SELECT k, v, rand(1) r FROM facts) f JOIN $k ON f.k = k.k WHERE r >= 0" -> 0,
          s"SELECT sum(v) FROM facts f JOIN $k ON f.i = k.k" -> 1,
          s"SELECT sum(v) FROM facts f JOIN $k ON f.k <=> k.k" -> 0,
          "SELECT sum(v) FROM facts f JOIN (SELECT s FROM keys WHERE g = 3) k ON f.s = k.s" -> 0,
          s"SELECT sum(v) FROM facts f JOIN $k ON f.n = k.k" -> 1,
          "SELECT sum(v) FROM facts f JOIN keys k ON f.k = k.k" -> 0,
          s"SELECT sum(v) FROM facts f JOIN $k ON f.k = k.k JOIN (SELECT k FROM keys WHERE k < 160) l ON f.k = l.k" -> 2
        )
      ) {
        val df = planned(sql)
        assert(pushed(df) == n, s"$sql\n${executed(df)}")
      }
    }
  }

  test("of two copies of a join, none is filtered before the other has started") {
    plain {
      val one = "SELECT f.v FROM facts f JOIN keys k ON f.k = k.k WHERE k.g = 3"
      val df = planned(s"SELECT count(*) FROM ($one) a JOIN ($one) b ON a.v = b.v")
      val scans = collect(executed(df)) { case f: FileSourceScanExec if f.output.exists(_.name == "v") => f }
      assert(scans.exists(!_.dataFilters.mkString.contains(">=")), executed(df))
    }
  }

  test("a null key matches nothing, and keys that the column's type cannot hold are none of its values") {
    plain {
      val nulls = "(SELECT nullif(k, 151) AS k FROM keys WHERE g = 3)"
      assert(pushed(planned(s"SELECT count(*), sum(v) FROM facts f JOIN $nulls k ON f.k = k.k")) == 1)
      val large = "(SELECT k + 3000000000L * (k % 2) AS k FROM keys WHERE g = 3)"
      planned(s"SELECT count(*), sum(v) FROM facts f JOIN $large k ON f.i = k.k"): Unit
    }
  }

  test("a scan that its join's mode leaves alone, and one of another format") {
    conf(FilterConf.MODE.key -> "OFF")(
      assert(pushed(planned("SELECT sum(v) FROM facts f JOIN keys k ON f.k = k.k WHERE k.g = 3")) == 0)
    )
    spark.sql("SELECT * FROM facts").write.format("orc").saveAsTable("in_orc")
    try
      plain(
        assert(pushed(planned("SELECT sum(v) FROM in_orc f JOIN keys k ON f.k = k.k WHERE k.g = 3")) == 0)
      )
    finally spark.sql("DROP TABLE in_orc"): Unit
  }
}
