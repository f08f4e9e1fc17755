package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.springbok.{Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{JoinConf, StatsConf}
import org.apache.spark.sql.springbok.cost.CostConstants
import org.apache.spark.sql.springbok.stats.estimate.Source

class JoinStrategySuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "big",
      "SELECT id AS k, id % 1000 AS g, concat('some text to fill the row ', id) AS t FROM range(300000)"
    )
    table("half", "SELECT id * 2 AS k, concat('other text to fill the row ', id) AS t FROM range(150000)")
    table("small", "SELECT id AS k, id % 10 AS g FROM range(1000)")
  }

  private def only(sql: String): BaseJoinExec = {
    val js = joins(same(sql))
    assert(js.size == 1)
    js.head
  }

  private def reason(sql: String): String = record(same(sql)).joins.head.latest.get.choice.reason.code

  test("a small side is broadcast by footers' row counts, without ANALYZE") {
    val df = same("SELECT count(*), max(b.t) FROM big b JOIN small s ON b.k = s.k")
    assert(joins(df).head.isInstanceOf[BroadcastHashJoinExec])
    val d = record(df).joins.head.planned.get
    assert(d.leftSource.contains(Source.Footer) || d.leftSource.contains(Source.Estimated))
    assert(d.choice.reason.code == "LOWEST_COST")
  }

  test("ANALYZE counts more than footers, with CBO off too") {
    spark.sql("CREATE TABLE analyzed USING parquet AS SELECT id AS k, id % 7 AS x FROM range(5000)"): Unit
    spark.sql("ANALYZE TABLE analyzed COMPUTE STATISTICS FOR ALL COLUMNS"): Unit
    val d = record(same("SELECT count(*) FROM big b JOIN analyzed a ON b.k = a.k + 0")).joins.head.planned.get
    assert(d.input.exists(_.right.rows.contains(5000.0)))
  }

  test("two large sides: shuffled hash where the build side fits, sort-merge where it does not", Smoke) {
    val sql = "SELECT count(*), max(b.t), max(h.t) FROM big b JOIN half h ON b.k = h.k"
    conf(JoinConf.BROADCAST_BYTES_LIMIT.key -> "1m", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assert(only(sql).isInstanceOf[ShuffledHashJoinExec])
      conf(JoinConf.SHUFFLED_HASH_MEMORY_FRACTION.key -> "0.001") {
        assert(only(sql).isInstanceOf[SortMergeJoinExec])
        assert(
          record(same(sql)).joins.head.latest.get.choice.alternatives
            .exists(_.ruledOut.exists(_.reason.code == "HASH_TABLE_TOO_BIG"))
        )
      }
    }
  }

  // `autoBroadcastJoinThreshold=-1` once stopped Spark's broadcasts but not Springbok's.
  test("who switched Spark's broadcasts off gets none of Springbok's but by a hint or a limit of its own") {
    val key = JoinConf.BROADCAST_BYTES_LIMIT.key
    val limit = spark.conf.get(key)
    val sql = "count(*) FROM half h JOIN small s ON h.k = s.k"
    conf(key -> limit, "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assert(only(s"SELECT $sql").isInstanceOf[BroadcastHashJoinExec])
      spark.conf.unset(key)
      val df = same(s"SELECT $sql")
      assert(collect(df.queryExecution.executedPlan) { case j: BroadcastHashJoinExec => j }.isEmpty)
      assert(
        record(df).joins.head.latest.get.choice.alternatives
          .exists(_.ruledOut.exists(_.reason.code == "BUILD_SIDE_TOO_BIG"))
      )
      assert(only(s"SELECT /*+ BROADCAST(s) */ $sql").isInstanceOf[BroadcastHashJoinExec])
    }
    conf(key -> limit) {
      spark.conf.unset(key)
      assert(only(s"SELECT $sql").isInstanceOf[BroadcastHashJoinExec])
    }
  }

  test("the cluster's shape decides") {
    val sql = "SELECT count(*), max(b.t), max(h.t) FROM big b JOIN half h ON b.k = h.k"
    def planned(conf: (String, String)*) = this.conf(conf: _*) {
      record(same(sql)).joins.head.planned.get.choice.alternatives.map(a => a.strategy.name -> a.cost)
    }
    val (one, many) = (planned(), planned("spark.springbok.cluster.executors" -> "50"))
    assert(
      many
        .filter(_._1 == "broadcast hash")
        .map(_._2)
        .min > 40 * one.filter(_._1 == "broadcast hash").map(_._2).min
    )
    // Of a shuffle only the stages cost more: more cores wait while they are scheduled.
    val stage = CostConstants.stageNs / CostConstants.nsPerByte * 2
    val hash = (costs: Seq[(String, Double)], executors: Int) =>
      costs.filter(_._1 == "shuffled hash").map(_._2 - 2 * stage * executors)
    assert(hash(many, 50) == hash(one, 1))
  }

  test("the query's own hint decides") {
    for (
      (hint, strategy) <- Seq(
        "MERGE" -> classOf[SortMergeJoinExec],
        "SHUFFLE_HASH" -> classOf[ShuffledHashJoinExec],
        "BROADCAST" -> classOf[BroadcastHashJoinExec]
      )
    ) {
      val sql = s"SELECT /*+ $hint(s) */ count(*) FROM big b JOIN small s ON b.k = s.k"
      assert(strategy.isInstance(only(sql)), hint)
      assert(reason(sql) == "USER_HINT")
    }
  }

  for (
    join <- Seq("INNER", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI", "CROSS");
    left <- Seq("big", "small")
  )
    test(s"$join join of $left: the strategy fits the type and the answer is the same") {
      val right = if (left == "big") "small" else "big"
      val j =
        only(s"SELECT * FROM (SELECT k, g FROM $left) l $join JOIN (SELECT k, g FROM $right) r ON l.k = r.k")
      j match {
        case b: BroadcastHashJoinExec =>
          val built = b.buildSide.toString
          if (join == "LEFT OUTER" || join.startsWith("LEFT ")) assert(built == "BuildRight")
          if (join == "RIGHT OUTER") assert(built == "BuildLeft")
          assert(join != "FULL OUTER")
        case _ =>
      }
    }

  test("EXISTS under an OR, a join type without a name in SQL") {
    val df = same(
      """SELECT b.k, b.g FROM big b WHERE b.g < 3
        |  OR EXISTS (SELECT 1 FROM small s WHERE s.k = b.k) OR EXISTS (SELECT 1 FROM half h WHERE h.k = b.k)""".stripMargin
    )
    assert(record(df).joins.map(_.joinType) == Seq("EXISTENCE", "EXISTENCE"))
    assert(declined(df).toSet == Set("JOIN_TYPE_UNSUPPORTED"), declined(df))
  }

  test("a subquery's joins are on the query's record, each with an id of its own") {
    val df = same(
      """SELECT count(*) FROM big b JOIN small s ON b.k = s.k
        |WHERE b.g > (SELECT avg(x.g) FROM small x JOIN half y ON x.k = y.k)
        |  AND b.g < (SELECT max(x.g) * 100 FROM small x JOIN big y ON x.k = y.k)""".stripMargin
    )
    assert(record(df).joins.map(_.id) == Seq(0, 1, 2))
    assert(record(df).joins.forall(_.planned.isDefined))
  }

  test("joins that are left alone say why") {
    conf(JoinConf.ENABLED.key -> "false") {
      assert(reason("SELECT count(*) FROM big b JOIN small s ON b.k = s.k") == "JOIN_CHOICE_OFF")
    }
    conf(StatsConf.FOOTERS_ENABLED.key -> "false") {
      val df = spark.sql("SELECT count(*) FROM big b JOIN small s ON b.k = s.k")
      executed(df)
      assert(record(df).joins.head.planned.get.choice.reason.code == "STATS_UNKNOWN")
      conf(JoinConf.DEFAULT_MODE.key -> "PARTITIONED") {
        val df = spark.sql("SELECT count(*) FROM big b JOIN small s ON b.k = s.k")
        executed(df)
        assert(joins(df).head.isInstanceOf[SortMergeJoinExec])
      }
    }
  }

  test("a build side that turns out small is broadcast after all") {
    // Nothing is known of a predicate on two columns, so the bound forbids a broadcast beforehand.
    val sql =
      "SELECT count(*), max(b.t) FROM big b JOIN half h ON b.k = h.k WHERE concat(h.t, h.k % 1) LIKE '%row 770'"
    conf(JoinConf.BROADCAST_BYTES_LIMIT.key -> "1m", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val df = same(sql)
      val r = record(df).joins.head
      assert(!r.planned.get.choice.chosen.name.contains("broadcast"))
      assert(joins(df).head.isInstanceOf[BroadcastHashJoinExec], executed(df))
    }
  }

  // Once the pruned scan was part of a stage, the join was planned again as a shuffle, and the broadcast ran
  // for the pruning alone.
  test("a broadcast that prunes partitions stays one when the pruned scan is a stage already") {
    table(
      "sold",
      "SELECT id, id % 100 AS units, CAST(id % 15 AS INT) AS store FROM range(1000)",
      Seq("store")
    )
    val v = "(SELECT store FROM sold WHERE units = 70 GROUP BY store)"
    val df = same(s"SELECT * FROM $v a JOIN $v b ON a.store = b.store")
    val decisions = record(df).joins.map(j => (j.planned.get, j.latest.get)).head
    assert(decisions._1.choice.reason.code == "FEEDS_PARTITION_PRUNING")
    assert(decisions._2.choice.reason.code == "FEEDS_PARTITION_PRUNING")
    assert(joins(df).forall(_.isInstanceOf[BroadcastHashJoinExec]), executed(df))
  }

  // The pruning has a copy of the side, which Spark plans alone: another strategy in it once made Spark give up the pruning.
  // Its filters are in both.
  test("the joins of a side that prunes partitions are planned like their copy") {
    table(
      "sales",
      "SELECT id, id % 100 AS units, CAST(id % 15 AS INT) AS store FROM range(3000)",
      Seq("store")
    )
    table("stores", "SELECT CAST(id AS INT) AS store, id % 1000 AS city FROM range(5000)")
    table("cities", "SELECT id AS city, id % 50 AS state FROM range(1000)")
    val side = "(SELECT s.store FROM stores s JOIN cities c ON s.city = c.city WHERE c.state = 3)"
    val sql = s"SELECT /*+ BROADCAST(s) */ count(*) FROM sales f JOIN $side s ON f.store = s.store"
    def files(df: DataFrame) = collectWithSubqueries(executed(df)) {
      case s: FileSourceScanExec if s.relation.partitionSchema.nonEmpty => s.metrics("numFiles").value
    }.sum
    for (partitions <- Seq("4", "200"))
      conf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.shuffle.partitions" -> partitions) {
        val (expected, df) = (off(files(same(sql))), same(sql))
        assert(expected < 15 && files(df) == expected, executed(df))
        assert(used(df).nonEmpty, executed(df))
      }
  }
}
