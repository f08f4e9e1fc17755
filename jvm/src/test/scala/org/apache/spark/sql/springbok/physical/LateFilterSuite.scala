package org.apache.spark.sql.springbok.physical

import org.apache.spark.TaskContext
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.{Slow, Smoke, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{ClusterConf, FilterConf, JoinConf}
import org.apache.spark.sql.springbok.physical.LateFilterPoll.{FinalPoll, Poll}
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.report.SpringbokReport

/** Filters that arrive while their scan runs. */
class LateFilterSuite extends SpringbokTest {
  private val never = FilterConf.WAIT.key -> "NEVER"

  /** Each task of the scan waits for the filter, as long as it takes. */
  private val patient = Seq(never, FilterConf.WAIT_TIME.key -> "60000")
  private val rows = 40000L

  override protected def sessionConf: Map[String, String] =
    super.sessionConf + ("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val name = "CASE WHEN id % 3 > 0 THEN concat('k', id % 1000) END"
    val path = folder.resolve("fact").toString
    spark
      .range(0, rows, 1, 8)
      .selectExpr("id AS v", "id % 1000 AS k", s"$name AS name", "CAST(id % 1000 AS DOUBLE) AS d")
      .write
      .parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("fact")
    table(
      "mid",
      "SELECT id AS k, concat('k', id) AS name, CAST(id AS DOUBLE) AS d, id % 50 AS g FROM range(1000)"
    )
    spark.udf.register("hold", (side: String, value: Long) => LateFilterSuite.hold(side, value)): Unit
  }

  private def in(df: DataFrame) = applied(df).map(_.child.metrics("numOutputRows").value).sum
  private def out(df: DataFrame) = applied(df).map(_.metrics("numOutputRows").value).sum

  private def late(sql: String): DataFrame = {
    val df = same(sql)
    val kinds = used(df).map(_.kinds)
    assert(kinds.nonEmpty && kinds.forall(_.head == "late"), record(df).filters.all.map(_.reason.text))
    df
  }

  for (
    strategy <- Seq("MERGE", "SHUFFLE_HASH");
    (what, join) <- Seq(
      "an inner join, probe side first" -> "fact f JOIN mid m ON f.k = m.k WHERE g = 7",
      "an inner join, build side first" -> "mid m JOIN fact f ON f.k = m.k WHERE g = 7",
      "a semi join" -> "fact f LEFT SEMI JOIN (SELECT * FROM mid WHERE g = 7) m ON f.k = m.k",
      "an outer join" -> "fact f RIGHT JOIN (SELECT * FROM mid WHERE g = 7) m ON f.k = m.k",
      "strings and nulls" -> "fact f JOIN mid m ON f.name = m.name WHERE g = 7",
      "doubles" -> "fact f JOIN mid m ON f.d = m.d WHERE g = 7",
      "a key that might raise an error" -> "fact f JOIN mid m ON f.k + 1 = m.k WHERE g = 7"
    )
  )
    test(s"$strategy: $what") {
      conf(patient: _*) {
        val df = late(s"SELECT /*+ $strategy(f, m) */ count(*), sum(f.v) FROM $join")
        assert(in(df) >= rows / 2 && out(df) <= rows / 50, s"${in(df)}, ${out(df)}")
        val Some(f) = SpringbokReport.of(execution(df)).filters.find(_.id.isDefined): @unchecked
        assert(f.arrivedMs.isDefined && f.tasksTested.exists(_ > 0) && f.tasksUntested.contains(0L), f)
      }
    }

  test("row by row, without generated code", Slow) {
    val interpreted =
      Seq("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN")
    for (codegen <- Seq(Nil, interpreted.take(1), interpreted); key <- Seq("k", "name"))
      conf(patient ++ codegen: _*) {
        val df = late(plain.replace("f.k = m.k", s"f.$key = m.$key"))
        assert(out(df) <= rows / 50)
      }
  }

  test(
    "keys are tested as those of a filter in time: by a bitmap if they lie close together, else by their hashes"
  ) {
    conf(patient: _*) {
      def kind(df: DataFrame) = used(df).flatMap(_.kinds.drop(1)).toSet
      assert(kind(late(plain)) == Set("bitmap"))
      assert(kind(late(plain.replace("f.k = m.k", "f.name = m.name"))) == Set("bloom"))
      assert(kind(late(plain.replace("f.k = m.k", "f.k * 1000000000 = m.k * 1000000000"))) == Set("bloom"))
    }
  }

  test("a build side without keys") {
    val join = "fact f RIGHT JOIN (SELECT nullif(k, k) AS k FROM mid WHERE g = 7) m ON f.k = m.k"
    // Adaptive execution leaves out a side that came out empty.
    conf(patient: _*)(late(s"SELECT /*+ MERGE(f, m) */ count(*), sum(f.v) FROM $join"): Unit)
  }

  private val plain =
    "SELECT /*+ MERGE(m) */ count(*), sum(f.v) FROM fact f JOIN mid m ON f.k = m.k WHERE g = 7"

  test("the build side's exchange has other partitions than it was placed with: the filter never came") {
    conf(patient :+ ("spark.sql.shuffle.partitions" -> "110"): _*) {
      val df = late(plain)
      val partitions = collect(executed(df)) { case e: ShuffleExchangeExec =>
        e.outputPartitioning.numPartitions
      }
      assert(partitions.filter(_ > 1).toSet == Set(201) && out(df) == rows / 50)
    }
  }

  private def held(hold: String, sql: String): DataFrame = conf(never) {
    LateFilterSuite.holding = hold
    val df = spark.sql(sql)
    val answer = sorted(df.collect())
    LateFilterSuite.holding = ""
    assert(answer == off(sorted(spark.sql(sql).collect())))
    assert(used(df).map(_.kinds) == Seq(Seq("late", "bitmap")), record(df).filters.all.map(_.reason.text))
    df
  }

  test("tasks that began before it arrived do not test their rows, those that began after it do") {
    val df = held("build", plain + " AND hold('build', m.k)")
    assert(out(df) >= rows / 8 && in(df) == rows, s"${out(df)} of ${in(df)}")
    val f = SpringbokReport.of(execution(df)).filters.find(_.id.isDefined).get
    assert(f.arrivedMs.exists(_ >= 0) && f.tasksUntested.exists(_ > 0) && f.scope.contains("global"), f)
    val tasks = SpringbokReport.of(execution(df)).tables.find(_.name.contains("fact")).flatMap(_.tasks)
    assert(tasks == f.tasksTested.map(_ + f.tasksUntested.get), f)
  }

  test("a build side of several stages, planned anew while the scan runs") {
    val probe = "(SELECT * FROM fact WHERE hold('probe', v)) f"
    val build = "(SELECT g, max(k) AS k FROM mid WHERE g < 20 GROUP BY g) m"
    held("probe", s"SELECT /*+ MERGE(m) */ count(*), sum(f.v) FROM $probe JOIN $build ON f.k = m.k"): Unit
  }

  // A shuffled join has its keys in the order of its input's partitioning, and a broadcast join in the query's. The filter of
  // the first key once was made of the second key's values.
  test("a join of two keys whose order changes when it becomes a broadcast join while the scan runs", Slow) {
    // One task waits for the filters, and another one makes the broadcast.
    spark
      .range(0, 50 * rows, 1, 1)
      .selectExpr("id AS v", "id % 1000 AS a", "id % 1000 + 5000 AS b")
      .write
      .parquet(folder.resolve("pairs").toString)
    spark.read.parquet(folder.resolve("pairs").toString).createOrReplaceTempView("pairs")
    for (t <- Seq("one", "two")) table(t, "SELECT id AS a, id + 5000 AS b, id % 50 AS g FROM range(1000)")
    val sql =
      """SELECT /*+ SHUFFLE_HASH(one) */ count(*), sum(f.v) FROM pairs f
        |LEFT JOIN one ON f.a = one.a AND f.b = one.b AND one.g < 40
        |JOIN two ON f.b = two.b AND f.a = two.a AND two.g < 7""".stripMargin
    // Too little for all rows of a table, enough for the filtered ones.
    val merged = Seq(
      JoinConf.BROADCAST_BYTES_LIMIT.key -> "10000",
      "spark.sql.join.preferSortMergeJoin" -> "true",
      "spark.sql.files.minPartitionNum" -> "1"
    )
    conf(patient ++ merged: _*) {
      val df = late(sql)
      assert(joins(df).exists(_.isInstanceOf[BroadcastHashJoinExec]), df.queryExecution.executedPlan)
    }
  }

  // A late filter once made a repeated task write other rows. Spark's shuffle checksums take that for an
  // indeterminate stage.
  test("what became of a late filter in its scan") {
    val late = new LateFilter(-1, 0)
    assert(late.outcome == LateFilter.Outcome(None, 0, 0))
    late.answer(FinalPoll(late.id, 0)): Unit
    StartBuildSide(late, spark.sparkContext, null)
    late.settle(LateFilter.Arrived(null))
    for (partition <- Seq(0, 1, 2)) late.answer(Poll(late.id, partition)): Unit
    assert(late.outcome.copy(arrivedMs = None) == LateFilter.Outcome(None, tested = 2, untested = 1))
    assert(late.outcome.arrivedMs.exists(_ >= 0))
    val none = new LateFilter(-1, 0)
    StartBuildSide(none, spark.sparkContext, null)
    none.settle(LateFilter.Never)
    none.answer(FinalPoll(none.id, 0)): Unit
    assert(none.outcome == LateFilter.Outcome(None, tested = 0, untested = 1))
  }

  test("what a partition's first attempt was told is told to all of them") {
    val late = new LateFilter(-1, 0)
    assert(
      late.answer(Poll(late.id, 0)) == LateFilter.Open && late.answer(
        FinalPoll(late.id, 0)
      ) == LateFilter.Never
    )
    val there = LateFilter.Arrived(null)
    late.settle(there)
    assert(
      late.answer(Poll(late.id, 0)) == LateFilter.Never && late.answer(
        FinalPoll(late.id, 0)
      ) == LateFilter.Never
    )
    assert(late.answer(Poll(late.id, 1)) == there && late.answer(FinalPoll(late.id, 1)) == there)
    late.settle(LateFilter.Never)
    assert(
      late.answer(FinalPoll(late.id, 1)) == there && late.answer(FinalPoll(late.id, 2)) == LateFilter.Never
    )
  }

  test("the filters of a task share one waiting time") {
    val (task, other) = (TaskContext.empty(), TaskContext.empty())
    val end = LateFilterClient.waitsUntil(task, 1000)
    assert(LateFilterClient.waitsUntil(other, 1000) >= end)
    assert(LateFilterClient.waitsUntil(task, 1000) == end)
  }

  test("a second execution of a query gets a filter of its own", Smoke) {
    val df = spark.sql("SELECT /*+ MERGE(m) */ f.v FROM fact f JOIN mid m ON f.k = m.k WHERE g = 7")
    conf(never) {
      assert(df.count() == rows / 50 && df.count() == rows / 50)
      assert(df.collect().length == rows / 50 && df.collect().length == rows / 50)
    }
  }

  test("scans whose rows are grouped, or dealt out in turn, get none") {
    conf(never) {
      for (
        from <- Seq(
          "(SELECT /*+ REPARTITION(3) */ * FROM fact)",
          "(SELECT k, sum(v) AS s, count(DISTINCT v) AS n FROM fact GROUP BY k)"
        )
      ) {
        val df = same(
          s"SELECT /*+ BROADCAST(m) */ count(*), sum(f.k) FROM $from f JOIN mid m ON f.k = m.k WHERE g = 7"
        )
        assert(
          used(df).isEmpty && declined(df).contains("NO_WAITING"),
          record(df).filters.all.map(_.reason.text)
        )
      }
    }
  }

  test("a scan waits for a build side that keeps the cluster busy, not for one that leaves it idle") {
    val sql =
      "SELECT /*+ MERGE(m) */ count(*) FROM fact f JOIN (SELECT k, max(v % 50) AS g FROM fact GROUP BY k) m " +
        "ON f.v = m.g"
    val df = same(sql)
    def late(df: DataFrame) =
      PlanningState.of(execution(df).optimizedPlan).get.joins.exists(_.filters.late)
    assert(used(df).nonEmpty && !late(df))
    conf(ClusterConf.EXECUTORS.key -> "100", ClusterConf.CORES.key -> "8") {
      val df = same(sql)
      assert(record(df).filters.all.size == 1 && late(df), record(df).filters.all.map(_.reason.text))
    }
  }
}

object LateFilterSuite extends AdaptiveSparkPlanHelper {
  @volatile var holding = ""

  /** The late filters of the query that the task belongs to. */
  private def ofThisQuery: Seq[LateFilter] = {
    val id = TaskContext.get().getLocalProperty(SQLExecution.EXECUTION_ID_KEY).toLong
    collectWithSubqueries(SQLExecution.getQueryExecution(id).executedPlan) {
      case f: AppliedRuntimeFilterExec => f.late
    }.flatten
  }

  /**
   * True; it holds the build side until a task of the scan has asked for the filter, or the scan's last task until the
   * filter is decided.
   */
  def hold(side: String, value: Long): Boolean = {
    val end = System.nanoTime + 30L * 1000 * 1000 * 1000
    def waits = ofThisQuery.exists(f =>
      if (side == "build") value == 7 && !f.answered else value == 39000 && !f.settled
    )
    while (side == holding && waits && System.nanoTime < end) Thread.sleep(5)
    true
  }
}
