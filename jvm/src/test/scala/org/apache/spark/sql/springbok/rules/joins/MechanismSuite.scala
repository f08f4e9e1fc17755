package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.catalyst.SparkAdaptive
import org.apache.spark.sql.springbok.conf.{AggregateConf, ClusterConf, JoinConf, StatsConf}
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.JoinDecision

/** Each join type, hint and state of statistics: what it becomes, or why it is declined. */
class MechanismSuite extends SpringbokTest {
  // What a join is made of depends on its tables alone.
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + (AggregateConf.BELOW_JOINS.key -> "false")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "big",
      "SELECT id AS k, id % 1000 AS g, concat('text to fill the row ', id) AS t FROM range(100000)"
    )
    table("small", "SELECT if(id % 97 = 5, NULL, id) AS k, id % 10 AS g FROM range(1000)")
    table("medium", "SELECT id * 2 AS k, id % 10 AS g FROM range(3000)")
    // One key in nine of ten rows, and a range of a few more numbers than rows, as a key has.
    table(
      "skewed",
      "SELECT CASE WHEN id = 2999 THEN 3010 WHEN id % 10 = 0 THEN id ELSE 0 END AS k, id FROM range(3000)"
    )
  }

  private def decision(df: DataFrame): JoinDecision = record(df).joins.last.latest.get

  private def noted(df: DataFrame): Seq[String] = decision(df).notes.map(_.code)

  /** Spark's own threshold is out of the way: what is broadcast is Springbok's choice. */
  private val off: (String, String) = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

  test("joins without equality: the smaller side is held, within the limits", Slow) {
    conf(off) {
      def built(sql: String) = joins(same(sql)).collect { case n: BroadcastNestedLoopJoinExec => n.buildSide }
      assert(built("SELECT count(*) FROM medium m JOIN small s ON m.g < s.g") == Seq(BuildRight))
      assert(built("SELECT count(*) FROM small s JOIN medium m ON m.g < s.g") == Seq(BuildLeft))
      for (
        (kind, side) <- Seq(
          "LEFT" -> BuildRight,
          "RIGHT" -> BuildLeft,
          "FULL" -> BuildRight,
          "LEFT SEMI" -> BuildRight,
          "LEFT ANTI" -> BuildRight
        )
      )
        assert(
          built(s"SELECT count(*) FROM medium m $kind JOIN small s ON m.k < s.k AND s.g > 7") == Seq(side),
          kind
        )
      conf(JoinConf.BROADCAST_BYTES_LIMIT.key -> "1k") {
        val inner = same("SELECT count(*) FROM medium m JOIN small s ON m.g < s.g")
        assert(joins(inner).head.isInstanceOf[CartesianProductExec])
        assert(decision(inner).choice.chosen.name == "cartesian")
        val outer = same("SELECT count(*) FROM medium m LEFT JOIN small s ON m.g < s.g")
        assert(decision(outer).choice.reason.code == "ALL_RULED_OUT")
      }
      conf(StatsConf.FOOTERS_ENABLED.key -> "false") {
        val df = same("SELECT count(*) FROM medium m JOIN small s ON m.g < s.g")
        assert(decision(df).choice.reason.code == "STATS_UNKNOWN")
      }
    }
  }

  test("a dimension that several branches read by the same key is broadcast for all of them") {
    conf(off) {
      val branch = (t: String, g: Int) => s"SELECT count(*) FROM $t b JOIN small s ON b.k = s.k AND s.g = $g"
      val df = same(s"${branch("big", 3)} UNION ALL ${branch("medium", 3)} UNION ALL ${branch("skewed", 4)}")
      val shared = record(df).joins.map(_.latest.get.notes.filter(_.code == "BROADCAST_SHARED").map(_.text))
      assert(shared.count(_.exists(_.contains("2 joins"))) == 2 && shared.count(_.isEmpty) == 1, shared)
    }
  }

  // Spark normalizes -0.0 in the keys of all hash joins but this one.
  test("NOT IN over floating-point numbers is left to Spark: equal values may have other bytes") {
    val numbers = "SELECT IF(id = 3, NULL, CAST(id AS DOUBLE)) AS x FROM range(1000)"
    table("zeros", numbers)
    table("negative", s"SELECT -x AS x FROM ($numbers) WHERE x < 5")
    for (t <- Seq("DOUBLE", "FLOAT"))
      conf(off) {
        val sql = s"SELECT x FROM zeros WHERE CAST(x AS $t) NOT IN (SELECT CAST(x AS $t) FROM negative)"
        val sparks = super.off(spark.sql(sql))
        super.off(sparks.collect()): Unit
        assert(joins(same(sql)).map(_.getClass) == joins(sparks).map(_.getClass) && joins(sparks).nonEmpty)
      }
  }

  test("NOT IN is a hash lookup whatever the size of its right side, nulls or not", Smoke) {
    def query(outer: String, inner: String) =
      s"SELECT count(*), sum(g) FROM $outer WHERE k NOT IN (SELECT k FROM $inner)"
    for (
      (l, r) <- Seq(
        "medium" -> "small",
        "small" -> "medium",
        "small" -> "(SELECT k FROM medium WHERE g > 20)",
        "small" -> "(SELECT k FROM small WHERE k IS NOT NULL AND k < 500)"
      )
    )
      conf(off) {
        val df = same(query(l, r))
        assert(record(df).joins.head.planned.get.choice.reason.code == "NULL_AWARE_ANTI_JOIN")
        // An empty right side, or one with a null in it, may end the join before it runs.
        assert(
          joins(df).forall { case j: BroadcastHashJoinExec => j.isNullAwareAntiJoin; case _ => false },
          r
        )
      }
    conf(off, "spark.sql.optimizeNullAwareAntiJoin" -> "false") {
      assert(joins(same(query("medium", "small"))).head.isInstanceOf[BroadcastNestedLoopJoinExec])
    }
    conf(off, JoinConf.ENABLED.key -> "false") {
      // Spark itself may look the rows up, and find a null before any row.
      assert(joins(same(query("medium", "small"))).forall(_.isInstanceOf[BroadcastNestedLoopJoinExec]))
    }
  }

  /** Type of join, hints, what the join becomes, and the notes. */
  private val hints = Seq(
    ("JOIN", "BROADCAST(s)", "broadcast hash", Nil),
    ("JOIN", "BROADCAST(b)", "broadcast hash", Nil),
    ("JOIN", "MERGE(s)", "sort-merge", Nil),
    ("JOIN", "SHUFFLE_HASH(s)", "shuffled hash", Nil),
    ("JOIN", "SHUFFLE_REPLICATE_NL(s)", "cartesian", Nil),
    ("JOIN", "BROADCAST(s), MERGE(b)", "broadcast hash", Seq("HINT_IGNORED")),
    ("JOIN", "SHUFFLE_HASH(s), MERGE(b)", "sort-merge", Seq("HINT_IGNORED")),
    ("LEFT JOIN", "BROADCAST(b)", "broadcast hash", Seq("HINT_IGNORED")),
    ("LEFT JOIN", "BROADCAST(b), MERGE(s)", "sort-merge", Seq("HINT_IGNORED")),
    ("RIGHT JOIN", "BROADCAST(s)", "shuffled hash", Seq("HINT_IGNORED")),
    ("FULL JOIN", "BROADCAST(s)", "sort-merge", Seq("HINT_IGNORED")),
    ("FULL JOIN", "SHUFFLE_HASH(s)", "shuffled hash", Nil),
    ("LEFT JOIN", "SHUFFLE_REPLICATE_NL(s)", "broadcast hash", Seq("HINT_IGNORED"))
  )

  for ((kind, hint, becomes, notes) <- hints)
    test(s"$kind with $hint becomes $becomes${notes.mkString(", with ", "", "")}") {
      // All pairs of rows are made of it.
      val big = if (becomes == "cartesian") "(SELECT * FROM big WHERE g = 5)" else "big"
      val df = same(
        s"SELECT /*+ ${hint.replace("), ", ") ")} */ count(*), max(b.t) FROM $big b $kind small s ON b.k = s.k"
      )
      val name = joins(df).head match {
        case _: BroadcastHashJoinExec => "broadcast hash"
        case _: ShuffledHashJoinExec => "shuffled hash"
        case _: SortMergeJoinExec => "sort-merge"
        case _: CartesianProductExec => "cartesian"
        case other => other.nodeName
      }
      assert(noted(df) == notes && (decision(df).choice.reason.code == "USER_HINT") == honoured(hint, notes))
      assert(name == becomes || !honoured(hint, notes), executed(df))
    }

  private def honoured(hint: String, notes: Seq[String]): Boolean =
    notes.isEmpty || hint.contains(",")

  test("SHUFFLE forbids a broadcast and leaves the rest to the costs", Smoke, Slow) {
    def df(hint: String, kind: String = "JOIN", on: String = "b.k = s.k") =
      same(s"SELECT /*+ $hint */ count(*), max(b.t) FROM big b $kind small s ON $on")
    assert(joins(df("BROADCAST(x)")).head.isInstanceOf[BroadcastHashJoinExec])
    for (hint <- Seq("SHUFFLE(s)", "shuffle('b')"); kind <- Seq("JOIN", "LEFT JOIN", "FULL JOIN")) {
      val hinted = df(hint, kind)
      assert(joins(hinted).head.isInstanceOf[ShuffledJoin], executed(hinted))
      assert(decision(hinted).choice.constraint.isEmpty && noted(hinted).isEmpty)
    }
    assert(noted(df("SHUFFLE(s), BROADCAST(s)")) == Seq("HINT_IGNORED"))
    val merged = df("SHUFFLE(b), MERGE(s)")
    assert(joins(merged).head.isInstanceOf[SortMergeJoinExec] && noted(merged).isEmpty)
    assert(noted(df("SHUFFLE(s)", on = "b.k < s.k AND b.g = 5")) == Seq("HINT_IGNORED"))
    val both = df("SHUFFLE(s), NO_RUNTIME_FILTER_TARGET(s)")
    assert(joins(both).head.isInstanceOf[ShuffledJoin])
    val frame = spark.table("big").join(spark.table("small").hint("shuffle"), "k").groupBy().count()
    assert(frame.collect().head.getLong(0) == 989 && joins(frame).head.isInstanceOf[ShuffledJoin])
  }

  test("sort-merge joins are preferred if the session says so, and not by Spark's default") {
    val prefer = "spark.sql.join.preferSortMergeJoin"
    def chosen(settings: (String, String)*) =
      conf((JoinConf.BROADCAST_BYTES_LIMIT.key -> "0") +: settings: _*) {
        joins(same("SELECT count(*), max(b.t) FROM big b JOIN medium m ON b.k = m.k")).head
      }
    conf(off) {
      assert(chosen().isInstanceOf[ShuffledHashJoinExec])
      assert(chosen(prefer -> "false").isInstanceOf[ShuffledHashJoinExec])
      assert(chosen(prefer -> "true").isInstanceOf[SortMergeJoinExec])
    }
  }

  test("two aggregates of one row are joined by a nested loop and not as a cartesian product") {
    val df = same("SELECT * FROM (SELECT count(*) a FROM big) x, (SELECT count(*) b FROM medium) y")
    assert(joins(df).head.isInstanceOf[BroadcastNestedLoopJoinExec], executed(df))
  }

  test("a broadcast is charged for the executors that run the probe side") {
    conf(ClusterConf.EXECUTORS.key -> "50", "spark.sql.files.maxPartitionBytes" -> "256k", off) {
      val df = spark.sql("SELECT count(*), max(b.t) FROM big b JOIN small s ON b.k = s.k WHERE b.g > 3")
      val in = decision(df).input.get
      val n = in.left.layout.tasks.get
      assert(n > 1 && n < 50, n)
      val sent = decision(df).choice.alternatives
        .find(_.strategy == Strategy.Broadcast(BuildRight))
        .get
        .terms
        .toMap
      assert(sent("network") == in.right.size.risked * n)
    }
  }

  test("an unlimited broadcast is limited by memory alone") {
    def limit(df: DataFrame) = decision(df).input.get.limits.broadcast
    conf(JoinConf.BROADCAST_BYTES_LIMIT.key -> "unlimited", off) {
      val df = same("SELECT count(*), max(b.t) FROM big b JOIN medium m ON b.k = m.k")
      assert(joins(df).head.isInstanceOf[BroadcastHashJoinExec])
      assert(limit(df).bytes == Long.MaxValue && limit(df).measuredBytes == Long.MaxValue)
    }
    // Memory still does.
    conf(
      JoinConf.BROADCAST_BYTES_LIMIT.key -> "unlimited",
      JoinConf.BROADCAST_MEMORY_FRACTION.key -> "0.00001",
      off
    ) {
      val df = same("SELECT count(*), max(b.t) FROM big b JOIN medium m ON b.k = m.k")
      assert(joins(df).head.isInstanceOf[ShuffledJoin])
    }
  }

  test("hints without equality: only a broadcast or a cartesian product can be followed", Slow) {
    def df(hint: String, kind: String = "JOIN") =
      same(s"SELECT /*+ $hint(s) */ count(*) FROM medium m $kind small s ON m.g < s.g")
    assert(noted(df("MERGE")) == Seq("HINT_IGNORED"))
    assert(noted(df("SHUFFLE_HASH")) == Seq("HINT_IGNORED"))
    assert(joins(df("SHUFFLE_REPLICATE_NL")).head.isInstanceOf[CartesianProductExec])
    assert(noted(df("SHUFFLE_REPLICATE_NL", "LEFT JOIN")) == Seq("HINT_IGNORED"))
    assert(decision(df("BROADCAST")).choice.reason.code == "USER_HINT")
  }

  test(
    "a broadcast planned on a wrong estimate becomes a shuffle when its side turns out too big",
    Smoke,
    Slow
  ) {
    val build = "SELECT a.id AS k, b.id % 100 AS g, count(*) AS n FROM skewed a JOIN skewed b ON a.k = b.k " +
      "GROUP BY a.id, b.id % 100"
    val sql = s"SELECT count(*), sum(n), max(t) FROM big x JOIN ($build) y ON x.k = y.k"
    conf(off, JoinConf.BROADCAST_BYTES_LIMIT.key -> "500k") {
      val df = same(sql)
      val outer = record(df).joins.last
      assert(outer.planned.get.choice.chosen.name == "broadcast hash")
      assert(outer.latest.get.choice.chosen.name != "broadcast hash")
      assert(joins(df).head.isInstanceOf[ShuffledJoin], executed(df))
      // Spark's own evaluator counts shuffles alone and keeps the broadcast.
      val evaluator = "spark.sql.adaptive.customCostEvaluatorClass"
      conf(evaluator -> classOf[OnlyShuffles].getName) {
        assert(joins(same(sql)).head.isInstanceOf[BroadcastHashJoinExec])
      }
    }
  }

  // A build side that is a join was once broadcast in the belief that its key is unique. Skewed keys gave
  // hundreds of times the rows, and the driver ran out of memory.
  test("a broadcast of a join whose keys only look unique is not made", Slow) {
    // As many keys as rows by their range, and nearly all rows have one of them.
    val build = "SELECT a.id AS k, b.id AS g FROM skewed a JOIN skewed b ON a.k = b.k WHERE a.id < 1000"
    val sql = s"SELECT count(*), sum(y.g), max(t) FROM big x JOIN ($build) y ON x.k = y.k"
    conf(off, JoinConf.BROADCAST_BYTES_LIMIT.key -> "500k") {
      val df = same(sql)
      val outer = record(df).joins.last
      assert(outer.planned.get.choice.chosen == Strategy.Broadcast(BuildRight))
      assert(outer.latest.get.choice.chosen != outer.planned.get.choice.chosen)
      assert(joins(df).collectFirst { case b: BroadcastHashJoinExec => b.buildSide }.contains(BuildLeft))
    }
  }
}

/** Spark's default. */
class OnlyShuffles extends org.apache.spark.sql.execution.adaptive.CostEvaluator {
  override def evaluateCost(
      plan: org.apache.spark.sql.execution.SparkPlan
  ): org.apache.spark.sql.execution.adaptive.Cost =
    SparkAdaptive.costEvaluator(plan.conf).evaluateCost(plan)
}
