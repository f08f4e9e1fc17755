package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.springbok.Smoke
import org.apache.spark.sql.springbok.cost.{Constraint, Distribution, Strategy}
import org.apache.spark.sql.springbok.record.JoinDecision
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, Source}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** What Iceberg's tables tell before a query runs: values of columns, and where rows lie. */
class IcebergStatisticsSuite extends IcebergTest {
  private val grouping = Seq(
    "spark.sql.sources.v2.bucketing.enabled" -> "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled" -> "true",
    "spark.sql.iceberg.planning.preserve-data-grouping" -> "true"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for ((name, buckets, rows) <- Seq(("a8", 8, 10000), ("b8", 8, 4000), ("c4", 4, 4000)))
      iceberg(name, s"PARTITIONED BY (bucket($buckets, id))", rows = rows)
    for (name <- Seq("by_day", "by_day_too")) iceberg(name, "PARTITIONED BY (day)")
    iceberg("plain", rows = 3000)
  }

  /** The estimate of the whole table's rows and of a column. */
  private def estimated(name: String, column: String): (Option[Source], ColumnStats) = {
    val plan = execution(spark.table(s"ice.db.$name").select(column)).optimizedPlan
    val e = new PlanStats()(plan)
    (e.rows.map(_.source), e.columns(plan.output.head))
  }

  test("distinct values of Puffin files are known where Spark asks connectors for them", Smoke) {
    iceberg("counted")
    spark.sql("INSERT INTO ice.db.counted SELECT * FROM ice.db.counted")
    spark.sql("CALL ice.system.compute_table_stats(table => 'db.counted', columns => array('tens', 'code'))")
    conf("spark.sql.cbo.enabled" -> "true") {
      for ((column, values) <- Seq("tens" -> 1000, "code" -> 10000)) {
        val (source, stats) = estimated("counted", column)
        assert(source.contains(Source.Connector))
        // A sketch counts to a few percent.
        assert(stats.ndv.exists(n => math.abs(n - values) < values * 0.05) && stats.tight, (column, stats))
      }
      assert(!estimated("counted", "name")._2.tight)
    }
    val (source, stats) = estimated("counted", "tens")
    assert(source.contains(Source.Connector) && !stats.tight, stats)
  }

  private def shuffles(df: DataFrame): Int =
    collectWithSubqueries(executed(df)) { case s: ShuffleExchangeLike => s }.size

  private def decision(df: DataFrame): JoinDecision = record(df).joins.last.planned.get

  /** Whether the two sides of the query's last join are expected to be sent, and whether they are, with Springbok or without. */
  private def check(sql: String, colocated: Boolean, exchanges: Int): DataFrame = {
    val alone = off { val df = spark.sql(sql); df.collect(); shuffles(df) }
    val df = same(sql)
    assert((alone, shuffles(df)) == ((exchanges, exchanges)), executed(df))
    val choice = decision(df).choice
    assert(choice.distribution.contains(Distribution.Colocate) == colocated, choice)
    val taken = choice.alternatives.find(_.strategy == choice.chosen).get
    assert((taken.terms.toMap.apply("network") == 0) == colocated, taken)
    df
  }

  private def join(l: String, r: String, kind: String = "", on: String = "l.id = r.id") =
    s"SELECT l.id, r.name FROM ice.db.$l l $kind JOIN ice.db.$r r ON $on"

  for (kind <- Seq("", "LEFT", "RIGHT", "FULL"))
    test(s"tables with the same buckets are joined where they lie: $kind JOIN") {
      conf(shuffled ++ grouping: _*) {
        check(join("a8", "b8", kind), colocated = true, exchanges = 0)
      }
    }

  test("semi and anti joins, three tables, and conditions on either side") {
    conf(shuffled ++ grouping: _*) {
      for (kind <- Seq("SEMI", "ANTI"))
        check(
          s"SELECT l.id, l.name FROM ice.db.a8 l LEFT $kind JOIN ice.db.b8 r ON l.id = r.id",
          colocated = true,
          exchanges = 0
        )
      check(join("a8", "b8") + " JOIN ice.db.a8 x ON r.id = x.id", colocated = true, exchanges = 0)
      val some = join("a8", "b8") + " WHERE l.tens = 12 AND r.i % 2 = 0"
      conf("spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false")(
        check(some, colocated = true, exchanges = 0)
      )
      // Spark prunes the buckets of one side by the keys of the other, and plans the join.
      val pruned = same(some)
      assert(shuffles(pruned) == 0, executed(pruned))
      assert(decision(pruned).choice.constraint.contains(Constraint.FeedsPartitionPruning))
    }
  }

  test("partitions of the values themselves, of which one side lacks some") {
    spark.sql("DELETE FROM ice.db.by_day_too WHERE day < DATE'2024-02-01'")
    conf(shuffled ++ grouping: _*) {
      val on = "l.day = r.day AND l.id = r.id"
      conf("spark.sql.requireAllClusterKeysForCoPartition" -> "false") {
        for (kind <- Seq("", "LEFT", "RIGHT"))
          check(join("by_day", "by_day_too", kind, on), colocated = true, exchanges = 0)
        // Spark may split a large partition of one side, and read that of the other once for each part.
        conf("spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled" -> "true") {
          for (kind <- Seq("", "LEFT", "RIGHT")) same(join("by_day", "by_day_too", kind, on))
        }
      }
    }
  }

  test("other numbers of buckets, a table without, and grouping that is switched off: rows are sent") {
    conf(shuffled ++ grouping: _*) {
      check(join("a8", "c4"), colocated = false, exchanges = 2)
      check(join("a8", "plain"), colocated = false, exchanges = 2)
      check(join("a8", "b8", on = "l.tens = r.tens"), colocated = false, exchanges = 2)
      for ((key, _) <- grouping.take(1) ++ grouping.drop(2))
        conf(key -> "false")(check(join("a8", "b8"), colocated = false, exchanges = 2))
    }
  }

  // A scan that is built again might have other partitions than the other side's, and rows would not meet.
  test("a filter from another join leaves the partitions of a join that relies on them") {
    conf(shuffled ++ grouping: _*) {
      for ((l, r, column) <- Seq(("a8", "b8", "id"), ("by_day", "by_day_too", "day"))) {
        val sql = s"""SELECT l.id, r.name, d.grp FROM ice.db.$l l JOIN ice.db.$r r ON l.$column = r.$column
                     |JOIN dim d ON l.tens = d.id WHERE d.k BETWEEN 350 AND 353 AND l.id % 10 = r.id % 10""".stripMargin
        val df = same(sql)
        assert(used(df).nonEmpty && !told(df).contains(Right("rebuilt")), why(df))
        val onKey = same(sql.replace("l.tens = d.id", s"l.$column = d.$column"))
        assert(used(onKey).nonEmpty && !told(onKey).contains(Right("rebuilt")), why(onKey))
      }
    }
  }

  test("each strategy joins such tables") {
    conf(shuffled ++ grouping: _*) {
      for (hint <- Seq("SHUFFLE_HASH(r)", "SHUFFLE_HASH(l)", "MERGE(r)", "BROADCAST(r)")) {
        val df = same(join("a8", "b8").replaceFirst("SELECT", s"SELECT /*+ $hint */"))
        assert(shuffles(df) == 0 && Strategy.of(joins(df).head) != Strategy.Spark, executed(df))
      }
    }
  }
}
