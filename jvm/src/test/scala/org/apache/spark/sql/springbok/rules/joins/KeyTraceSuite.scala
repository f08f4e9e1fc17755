package org.apache.spark.sql.springbok.rules.joins

import scala.util.Random

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.{Inner, InnerLike, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.springbok.{Slow, SpringbokTest}
import org.apache.spark.sql.springbok.catalyst.{JoinSide, SharedExchanges, Sides}
import org.apache.spark.sql.springbok.conf.{FilterConf, ReorderConf}
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.physical.PlanningEstimates
import org.apache.spark.sql.springbok.record.PlanningState
import org.apache.spark.sql.springbok.rules.runtimefilters.place.{FilterPlanning, FilterTargets}
import org.apache.spark.sql.springbok.stats.estimate.WidenedColumn

/**
 * Joins are chosen for the filters that `FiltersAbove` and `ForgoneFilter` expect on the logical plan. `FilterTargets`
 * decides on the physical plan where filters go. Both must come to the same scans.
 */
class KeyTraceSuite extends SpringbokTest {
  import KeyTraceSuite._

  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    FilterConf.MODE.key -> "OFF",
    ReorderConf.ENABLED.key -> "false",
    "spark.sql.adaptive.forceApply" -> "true"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for (i <- 0 until RandomQuery.tables)
      table(
        s"t$i",
        s"SELECT CAST(id AS INT) AS k$i, CAST(id % 20 AS INT) AS s$i, id % 7 AS v$i FROM range(100)"
      )
    spark.table("t7").cache(): Unit
  }

  /** A key of a join's side that may be filtered, with the stop of each trace before each leaf of the side. */
  private case class Traced(
      sql: String,
      side: LogicalPlan,
      key: Expression,
      logical: Seq[Option[Stop[LogicalPlan, Attribute]]],
      physical: Seq[Option[Stop[SparkPlan, Expression]]],
      planning: FilterPlanning,
      exchanges: SharedExchanges
  ) {
    def text: String = s"$key of\n$side\n in $sql"
    def expected: Boolean = logical.exists(_.isEmpty)
    def reached: Boolean = physical.exists(_.isEmpty)

    /** Why the traces differ, for each leaf where they do; None if they must not. */
    def differences: Seq[Option[String]] = logical.zip(physical).collect {
      case (Some(stop), None) => onlyLogical(stop)
      case (None, Some(stop)) => onlyPhysical(stop, exchanges)
    }

    /** Whether the side's own filter is counted as what a broadcast of the side forgoes. */
    def forgone: Boolean = ForgoneFilter.making(side, key, planning.stats).isDefined
  }

  private def traced(sql: String): Seq[Traced] = {
    val query = execution(spark.sql(sql))
    val plan = query.executedPlan.collectFirst { case a: AdaptiveSparkPlanExec => a.initialPlan }.get
    val state = PlanningState.of(query.optimizedPlan).get
    val planning =
      new FilterPlanning(plan, state, PlanningEstimates.of(plan, state), spark.sessionState.conf)
    val targets = new FilterTargets(plan, planning)
    val logical = query.optimizedPlan.collect { case j: Join => j }
    val physical = plan.collect { case j: BaseJoinExec => j }
    assert(logical.map(_.joinType) == physical.map(_.joinType), sql)
    for {
      (j @ ExtractEquiJoinKeys(_, left, right, _, _, _, _, _), p) <- logical.zip(physical)
      s <- JoinSide.both if Sides.dropUnmatched(j.joinType)(s)
      key <- Sides(left, right)(s)
      atScan <- FilterKey.of(key).flatMap(FilterKey.atScan)
    } yield {
      val side = j.children(s.index)
      val stops = physicalStops(targets, p, s, atScan)
      assert(side.collectLeaves().size == stops.size, sql)
      val expected = KeyTraceSuite.stops(side, WidenedColumn.unapply(key).toSeq, isTable)(below)
      Traced(sql, side, key, expected, stops, planning, new SharedExchanges(plan))
    }
  }

  private def physicalStops(targets: FilterTargets, j: BaseJoinExec, s: JoinSide, key: Expression) = {
    val side = Sides.children(j)(s)
    val found = targets.of(j, s, key).map(_.at.collectLeaves().head)
    val ways = stops(side, Seq(key), FilterTargets.isScan) { (p, i, k) =>
      targets.routes(p, k).collect { case r if r.child == i => r.key }
    }
    side.collectLeaves().zip(ways).map { case (leaf, way) =>
      val target = found.exists(_ eq leaf)
      assert(!target || way.isEmpty)
      // A scan may refuse a key that comes to it.
      if (target) None else way.orElse(Some(Stop(leaf, Seq(key))))
    }
  }

  private lazy val random = RandomQuery.seeds.flatMap(n => traced(new RandomQuery(new Random(n)).sql))

  test("filters go to the scans of random plans that joins expect them at", Slow) {
    for (t <- random; why <- t.differences) assert(why.isDefined, t.text)
    val same = random.filter(_.differences.isEmpty)
    assert(same.count(_.reached) > 100 && same.count(!_.reached) > 20)
  }

  test("a side is counted as filtered from above only if a filter goes to one of its scans") {
    for (t <- random; column <- WidenedColumn.unapply(t.key)) {
      val counted = FiltersAbove.reachesScan(t.side, column)
      assert(!counted || t.expected && (t.reached || t.differences.nonEmpty), t.text)
      // Differs: of two sides with equal columns both must be reached.
      assert(
        counted || !t.expected || t.side.exists(_.isInstanceOf[Join]) && t.logical.exists(_.nonEmpty),
        t.text
      )
    }
  }

  test("a broadcast is charged only for a filter that goes to a scan") {
    val charged = random.filter(_.forgone)
    assert(charged.count(_.reached) > 50)
    // Differs: what stops a filter below groups is not looked for.
    def groups(p: LogicalPlan): Boolean = p match {
      case _: Filter | _: Project => groups(p.children.head)
      case _ => p.isInstanceOf[Aggregate]
    }
    def known(t: Traced) =
      groups(t.side) || t.physical.flatten.exists(onlyPhysical(_, t.exchanges).isDefined)
    for (t <- charged) assert(t.reached || known(t), t.text)
    val limited = "SELECT k1, max(v1) FROM (SELECT * FROM t1 LIMIT 50) GROUP BY k1"
    assert(traced(s"SELECT * FROM t0 JOIN ($limited) ON k0 = k1").exists(t => t.forgone && !t.reached))
  }

  test("each difference has a query") {
    val queries = Seq(
      "new name" -> "t0 JOIN (SELECT k1 AS k, v1 FROM t1) ON k0 = k",
      "new name" -> "t0 JOIN (SELECT k1 AS k, max(v1) FROM t1 GROUP BY k1) ON k0 = k",
      "expression" -> "t0 JOIN t1 ON k0 = k1 % 10",
      "cached table" -> "t0 JOIN t7 ON k0 = k7",
      "cast in a join below" -> "t0 JOIN (SELECT k1, v2 FROM t1 JOIN t2 ON k1 = v2) ON v0 = v2",
      "Union" -> "t0 JOIN (SELECT k1 FROM t1 UNION ALL SELECT k2 FROM t2) ON k0 = k1",
      "Generate" -> "t0 JOIN (SELECT k1, explode(array(1, 2)) FROM t1) ON k0 = k1",
      "Expand" -> "t0 JOIN (SELECT k1, s1 FROM t1 GROUP BY k1, s1 GROUPING SETS ((k1, s1), (k1))) ON k0 = k1",
      "RepartitionByExpression" -> "t0 JOIN (SELECT /*+ REPARTITION(v1) */ * FROM t1) ON k0 = k1",
      "WindowGroupLimit" ->
        "t0 JOIN (SELECT *, rank() OVER (PARTITION BY k1 ORDER BY v1) AS r FROM t1) ON k0 = k1 AND r < 3",
      "shared exchange" -> "(SELECT /*+ MERGE(a) */ * FROM t1 a JOIN t1 b ON a.k1 = b.k1)",
      "cast of an equal key" -> "t0 JOIN (SELECT k1, k2 FROM t1 JOIN t2 ON k1 = k2) ON v0 = k1"
    )
    for ((why, from) <- queries)
      assert(traced(s"SELECT * FROM $from").flatMap(_.differences).contains(Some(why)), from)
  }
}

private object KeyTraceSuite {

  /** The operator where all keys of a trace stop. */
  final case class Stop[P, K](at: P, keys: Seq[K])

  /** For each leaf, in the plan's order: where the keys stop on the way to it, None if one arrives. */
  def stops[P <: TreeNode[P], K](p: P, keys: Seq[K], isScan: P => Boolean)(
      step: (P, Int, K) => Seq[K]
  ): Seq[Option[Stop[P, K]]] =
    if (keys.isEmpty || p.children.isEmpty && !isScan(p)) p.collectLeaves().map(_ => Some(Stop(p, keys)))
    else if (isScan(p)) Seq(None)
    else
      p.children.zipWithIndex.flatMap { case (c, i) =>
        val next = keys.flatMap(step(p, i, _))
        if (next.isEmpty) c.collectLeaves().map(_ => Some(Stop(p, keys)))
        else stops(c, next, isScan)(step)
      }

  def isTable(p: LogicalPlan): Boolean = p.isInstanceOf[LogicalRelation]

  /** The columns of a child that a filter of a join above goes on with. */
  def below(p: LogicalPlan, child: Int, column: Attribute): Seq[Attribute] =
    FiltersAbove.passed(p, child, Seq(FiltersAbove.Reduction(column, 0.5))).map(_.column)

  /** Why only the logical trace stops here: joins do not count a filter that is made. */
  def onlyLogical(stop: Stop[LogicalPlan, Attribute]): Option[String] = {
    def renames(list: Seq[NamedExpression]) =
      list.exists(e => e.isInstanceOf[Alias] && stop.keys.exists(_.exprId == e.exprId))
    stop.at match {
      // Joins count only filters on columns and widening casts of them.
      case _ if stop.keys.isEmpty => Some("expression")
      // The logical trace does not follow an alias, of a projection or of a group's key.
      case Project(list, _) if renames(list) => Some("new name")
      case a: Aggregate if renames(a.aggregateExpressions) => Some("new name")
      // Joins count only filters on files and connectors.
      case _: InMemoryRelation => Some("cached table")
      // Of the keys of joins below, only pairs of columns are followed to the other side.
      case ExtractEquiJoinKeys(_: InnerLike | LeftSemi, left, right, _, _, _, _, _)
          if left.zip(right).exists { case (l, r) => isCast(l) || isCast(r) } =>
        Some("cast in a join below")
      // These stop the logical trace, whatever the key is.
      case _: Union | _: Generate | _: Expand | _: RepartitionByExpression | _: WindowGroupLimit =>
        Some(stop.at.nodeName)
      case _ => None
    }
  }

  /** Why only the physical trace stops here: joins count a filter that is not made. */
  def onlyPhysical(stop: Stop[SparkPlan, Expression], exchanges: SharedExchanges): Option[String] =
    stop.at match {
      // Only the physical plan has exchanges. `JoinPlanning.isRepeated` knows copies of joins alone.
      case e: Exchange if exchanges.shared(e) => Some("shared exchange")
      // The logical trace takes a widening cast for its column, and follows that to the other side of the join.
      case j: BaseJoinExec if Seq(Inner, LeftSemi).contains(j.joinType) && stop.keys.forall(isCast) =>
        Some("cast of an equal key")
      case _ => None
    }

  private def isCast(key: Expression): Boolean = key.isInstanceOf[Cast]
}
