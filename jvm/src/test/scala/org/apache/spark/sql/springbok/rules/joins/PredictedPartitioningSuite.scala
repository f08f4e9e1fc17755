package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage}
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{ClusterConf, JoinConf}
import org.apache.spark.sql.springbok.record.JoinDecision
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.ChunkedSource
import org.scalatest.Assertion

/** Sides that lie where they are needed are not sent: what is foreseen is what Spark then plans. */
class PredictedPartitioningSuite extends SpringbokTest {

  /** Broadcasts would hide what this suite is about. */
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    JoinConf.BROADCAST_BYTES_LIMIT.key -> "0",
    "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    def bucketed(name: String, by: String, n: Int, rows: Int): Unit = spark
      .sql(
        s"CREATE TABLE $name USING parquet CLUSTERED BY ($by) INTO $n BUCKETS AS " +
          s"SELECT id AS k, id % 50 AS g, id % 7 AS x FROM range($rows)"
      )
      .collect(): Unit
    bucketed("b8", "k", 8, 5000)
    bucketed("c8", "k", 8, 4000)
    bucketed("b4", "k", 4, 2500)
    bucketed("kg8", "k, g", 8, 2500)
    bucketed("kg8b", "g, k", 8, 2500)
    table("plain", "SELECT id AS k, id % 50 AS g, id % 7 AS x FROM range(7500)")
  }

  private def shuffles(df: DataFrame): Int =
    collectWithSubqueries(executed(df)) {
      case s: ShuffleExchangeLike => s
      case r: ReusedExchangeExec => r
    }.size

  private def decision(df: DataFrame): JoinDecision = record(df).joins.last.planned.get

  private def check(sql: String, distribution: String, exchanges: Int): Assertion = {
    val spark = off { val df = this.spark.sql(sql); df.collect(); shuffles(df) }
    val df = same(sql)
    assert(decision(df).choice.distribution.map(_.name).contains(distribution), sql)
    // The exchanges that have run since do not make it another.
    val latest = record(df).joins.last.latest.get.choice
    assert(latest.distribution.forall(_.name == distribution), s"$sql: ${latest.reason.text}")
    assert(shuffles(df) == exchanges && exchanges <= spark, executed(df))
  }

  private def join(l: String, r: String, on: String = "l.k = r.k", kind: String = "") =
    s"SELECT l.x, r.g FROM $l l $kind JOIN $r r ON $on"

  test("two tables with the same buckets: colocate, in every type of join", Smoke, Slow) {
    for (kind <- Seq("", "LEFT", "RIGHT", "FULL"))
      check(join("b8", "c8", kind = kind), "colocate", 0)
    check("SELECT x FROM b8 l LEFT SEMI JOIN c8 r ON l.k = r.k", "colocate", 0)
    check("SELECT x FROM b8 l LEFT ANTI JOIN c8 r ON l.k = r.k", "colocate", 0)
    check(join("(SELECT k, x FROM b8 WHERE x < 3)", "(SELECT k, g FROM c8)"), "colocate", 0)
  }

  test("one bucketed table, or two that do not fit: bucket shuffle") {
    check(join("b8", "plain"), "bucket shuffle", 1)
    check(join("plain", "b8"), "bucket shuffle", 1)
    check(join("b8", "b4"), "bucket shuffle", 1)
  }

  test("tables that their connectors store by the join's key: colocate", Slow) {
    for (name <- Seq("stored", "stored_too"))
      spark.read
        .format(classOf[ChunkedSource].getName)
        .option("grouped", "true")
        .load()
        .createOrReplaceTempView(name)
    conf("spark.sql.sources.v2.bucketing.enabled" -> "true") {
      val few = "WHERE l.id % 1000 < 3"
      check(s"SELECT l.id, r.v FROM stored l JOIN stored_too r ON l.chunk = r.chunk $few", "colocate", 0)
      check(s"SELECT l.id FROM stored l LEFT SEMI JOIN stored_too r ON l.chunk = r.chunk $few", "colocate", 0)
      // Partitions by a part of the keys do, if Spark may use them.
      val on = "l.chunk = r.chunk AND l.id = r.id"
      conf("spark.sql.requireAllClusterKeysForCoPartition" -> "false")(
        check(s"SELECT l.id, r.v FROM stored l JOIN stored_too r ON $on", "colocate", 0)
      )
      check(s"SELECT l.id, r.v FROM stored l JOIN stored_too r ON $on", "partitioned", 2)
      check("SELECT l.id, r.v FROM stored l JOIN stored_too r ON l.id = r.id", "partitioned", 2)
      check("SELECT l.id, r.g FROM stored l JOIN plain r ON l.chunk = r.k", "partitioned", 2)
    }
  }

  test("buckets that do not serve the keys: partitioned") {
    check(join("b8", "c8", "l.g = r.g"), "partitioned", 2)
    // Rows of one key lie in buckets by g too.
    check(join("kg8", "plain"), "partitioned", 2)
    conf(SQLConf.BUCKETING_ENABLED.key -> "false")(check(join("b8", "c8"), "partitioned", 2))
  }

  test("a part of the keys serves where Spark allows it") {
    val on = "l.k = r.k AND l.g = r.g"
    check(join("kg8", "kg8b", on), "bucket shuffle", 1)
    check(join("kg8", "kg8", on), "colocate", 0)
    check(join("b8", "plain", on), "partitioned", 2)
    conf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION.key -> "false") {
      check(join("b8", "plain", on), "bucket shuffle", 1)
      check(join("b8", "c8", on), "colocate", 0)
    }
  }

  test("automatic bucketed scans lose no shuffle-free plan") {
    for (auto <- Seq("true", "false"))
      conf(SQLConf.AUTO_BUCKETED_SCAN_ENABLED.key -> auto) {
        check(join("b8", "c8"), "colocate", 0)
        check("SELECT l.k, count(*) FROM b8 l JOIN c8 r ON l.k = r.k GROUP BY l.k", "colocate", 0)
      }
  }

  test("aggregates, windows and joins below on the same keys", Slow) {
    val sums = "(SELECT k, sum(x) AS g FROM plain GROUP BY k)"
    check(join("plain", sums), "bucket shuffle", 2)
    check(join("(SELECT k, max(x) AS x FROM plain GROUP BY k)", sums), "colocate", 2)
    check(
      join("plain", "(SELECT k, sum(x) OVER (PARTITION BY k) AS g FROM plain)"),
      "bucket shuffle",
      2
    )
    def three(c: String) = s"SELECT a.x, c.g FROM plain a JOIN plain b ON a.k = b.k JOIN $c c ON b.k = c.k"
    check(three("b8"), "bucket shuffle", 3)
    // As many buckets as the shuffle has partitions.
    check(three("b4"), "colocate", 2)
    check("SELECT a.x, c.g FROM b8 a JOIN c8 b ON a.k = b.k JOIN b8 c ON b.k = c.k", "colocate", 0)
    check("SELECT a.x, c.g FROM b8 a LEFT JOIN c8 b ON a.k = b.k JOIN b8 c ON a.k = c.k", "colocate", 0)
    // Of a left join the right side's keys are null where nothing matched.
    check(
      "SELECT a.x, c.g FROM b8 a LEFT JOIN c8 b ON a.k = b.k LEFT JOIN b8 c ON b.k = c.k",
      "bucket shuffle",
      1
    )
    check(
      "SELECT a.x, c.g FROM b8 a FULL JOIN c8 b ON a.k = b.k LEFT JOIN b8 c ON a.k = c.k",
      "bucket shuffle",
      1
    )
  }

  // Such rows were once expected to be shuffled by the keys, because Spark would not broadcast a page of 64
  // MB by size. TPC-DS q14b shuffled 26 million rows twice for it.
  test(
    "the rows of a join whose broadcast has run lie where its streamed side has them, however large the relation"
  ) {
    conf(
      JoinConf.BROADCAST_BYTES_LIMIT.key -> "100m",
      // The relation's page is larger than what Spark broadcasts by itself.
      "spark.sql.autoBroadcastJoinThreshold" -> "1k"
    ) {
      val df = same("SELECT l.x FROM plain l JOIN b4 r ON l.k = r.k")
      val stage = collect(executed(df)) { case b: BroadcastQueryStageExec => b }.head
      val join = execution(df).optimizedPlan.collectFirst { case j: Join => j }.get
      val running = join.copy(right = LogicalQueryStage(join.right, stage), hint = JoinHint.NONE)
      assert(running.right.stats.sizeInBytes > SQLConf.get.autoBroadcastJoinThreshold)
      assert(PredictedPartitioning.of(running, SQLConf.get).isEmpty)
    }
  }

  test("a window above on the same keys wants a merge") {
    val sql = "SELECT l.k, sum(r.x) OVER (PARTITION BY l.k) FROM b8 l JOIN c8 r ON l.k = r.k"
    assert(joins(same(sql)).head.isInstanceOf[SortMergeJoinExec])
    assert(joins(same(join("b8", "c8"))).head.isInstanceOf[ShuffledHashJoinExec])
  }

  test("a small side is broadcast to a table in fewer buckets than cores") {
    spark
      .sql("CREATE TABLE one USING parquet CLUSTERED BY (k) INTO 1 BUCKETS AS SELECT * FROM plain")
      .collect()
    conf(
      JoinConf.BROADCAST_BYTES_LIMIT.key -> "100m",
      ClusterConf.CORES.key -> "64"
    ) {
      val df = same("SELECT l.x FROM one l JOIN (SELECT k FROM b4 WHERE x = 1) r ON l.k = r.k")
      assert(joins(df).head.isInstanceOf[BroadcastHashJoinExec])
    }
  }
}
