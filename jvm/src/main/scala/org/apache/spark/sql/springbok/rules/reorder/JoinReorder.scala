package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{
  CannotRaise,
  DeferredErrors,
  EqualPlans,
  ExpressionLabel,
  FileTable,
  PruningSubqueries,
  RelationName,
  RowOrder
}
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Reorders the joins of one plan, as [[ReorderJoins]] says. */
final private[springbok] class JoinReorder(plan: LogicalPlan, query: => PlanningState) {
  private val conf = SQLConf.get
  private lazy val stats = {
    val all = new PlanStats(lasting = query.lasting)
    all.readKeys(plan)
    all
  }
  private lazy val cluster = Cluster.of(SparkSession.active.sparkContext, conf)
  private lazy val repeated = new RepeatedJoins(plan)
  private lazy val prunes = PruningSubqueries.of(plan).nonEmpty
  private lazy val ordered = RowOrder.matters(plan)

  def apply(): LogicalPlan = go(plan, limited = false)

  /** @param limited whether a limit above takes rows in the order in which they come */
  private def go(p: LogicalPlan, limited: Boolean): LogicalPlan = {
    val below = RowOrder.limited(p, limited)
    p match {
      case Inners(b) => block(p, b, p.output, below)
      case _: Project | _: Aggregate =>
        p.mapChildren {
          case c @ Inners(b) => block(c, b, c.output.filter(p.references.contains), below)
          case c => go(c, below)
        }
      case _ => p.mapChildren(go(_, below))
    }
  }

  private object Inners {
    def unapply(p: LogicalPlan): Option[JoinBlock] = JoinBlock.of(p, repeated.moreOftenThan(p, _))
  }

  private def block(p: LogicalPlan, of: JoinBlock, needed: Seq[Attribute], limited: Boolean): LogicalPlan = {
    val b = of.copy(items = of.items.map(go(_, limited)))
    val inner = JoinBlock.replaceItems(p, of.items, b.items)
    val order = mustStay(p, b, limited) match {
      case Some(why) => OrderDecision.left(b, why)
      case None if b.places.nonEmpty => OrderDecision.asked(b)
      case None =>
        withoutCost(b).fold(OrderDecision(b, stats, cluster, conf))(OrderDecision.left(b, _))
    }
    val out = order.chosen.fold(inner)(b.build(_, needed))
    query.decisions.add(order.record)
    PlanningState.tagged(out, query)
  }

  /** Why the order is left, whatever it costs and whatever order the query asks for. */
  private def mustStay(top: LogicalPlan, b: JoinBlock, limited: Boolean): Option[Reason] = {
    def raises = raising(b)
    if (b.items.size > 60) Some(Reason.tooManyRelations(b.items.size))
    else if (b.hinted) Some(Reason.hintedOrder)
    else if (plan.isInstanceOf[Subquery] || repeated.isPlanned(top)) Some(Reason.orderOfSubquery)
    else if (prunes) Some(Reason.orderPruning)
    else if (limited || ordered) Some(Reason.rowOrder)
    else raises.map(c => Reason.orderRaises(ExpressionLabel(c)))
  }

  /** Why the order is left without a look at its cost. */
  private def withoutCost(b: JoinBlock): Option[Reason] = {
    lazy val unknown = b.items.filter(stats(_).rows.isEmpty)
    if (conf.bucketingEnabled && b.items.exists(bucketed)) Some(Reason.orderBucketed)
    else Option.when(unknown.nonEmpty)(Reason.unknownOrder(unknown.map(RelationName(_))))
  }

  /** An expression that may raise an error and sees other rows in another order, which also decides what is streamed. */
  private def raising(b: JoinBlock): Option[Expression] =
    b.conditions
      .find(c => !CannotRaise(c))
      // A column of a condition is computed in the join with this condition, which is another one in another order.
      .orElse(b.items.iterator.flatMap(DeferredErrors.in(_, AttributeSet.empty)(_.children)).nextOption())

  private def bucketed(p: LogicalPlan): Boolean = p.exists {
    case FileTable(_, fs) => fs.bucketSpec.isDefined
    case s: DataSourceV2ScanRelation => conf.v2BucketingEnabled && s.keyGroupedPartitioning.isDefined
    case _ => false
  }
}

/** The leaves that a plan reads, without those whose rows are in the query itself. */
private[reorder] object ScannedTables {
  def apply(p: LogicalPlan): Seq[LogicalPlan] = p.collectLeaves().filter {
    case _: LocalRelation | _: OneRowRelation | _: Range => false
    case _ => true
  }
}

/**
 * Joins that a query has several times, such as those of a CTE that it uses twice. Spark runs equal exchanges once, and so
 * equal joins below them. A block that takes one of them apart and not the others would make Spark run both.
 *
 * {{{
 *   Join                         The second ws1 ⋈ ws2 is a relation of its own.
 *   :- LeftSemi
 *   :  :- web_sales
 *   :  +- ws1 ⋈ ws2
 *   +- Join
 *      :- web_returns
 *      +- ws1 ⋈ ws2
 * }}}
 *
 * Equal blocks have equal statistics, so they are put into the same order. Subqueries are planned before their query: their
 * joins stay as they are, and so do equal joins of the query.
 */
final private[reorder] class RepeatedJoins(plan: LogicalPlan) {
  private val joins = new EqualPlans(plan.collectWithSubqueries { case j: Join => j })

  /** Whether a subquery that is planned already has the same join. */
  def isPlanned(top: LogicalPlan): Boolean = {
    val same = copies(top)
    same.size > 1 && same.exists(JoinState.of(_).isDefined)
  }

  /** Whether the query has a join more often than the joins above that it belongs to. */
  def moreOftenThan(top: LogicalPlan, join: Join): Boolean =
    math.max(1, copies(join).size) > math.max(1, copies(top).size)

  private def copies(p: LogicalPlan): Seq[Join] = p match {
    case j: Join => joins.of(j)
    case _ => Nil
  }
}
