package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{
  CannotRaise,
  DeferredErrors,
  ExpressionLabel,
  FileTable,
  OrderDependent,
  RuleGuard
}
import org.apache.spark.sql.springbok.conf.{ReorderConf, SpringbokConf}
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Puts inner joins that stand next to one another into the order that is expected to cost least, runtime filters
 * included; also where Spark's own cost-based optimizer is off.
 *
 * {{{
 *   Join o_custkey = c_custkey                       Join l_orderkey = o_orderkey
 *   :- Join l_orderkey = o_orderkey                  :- lineitem
 *   :  :- lineitem                               =>  +- Join o_custkey = c_custkey
 *   :  +- orders                                        :- orders
 *   +- customer, filtered                               +- customer, filtered
 * }}}
 *
 * Runs after all of Spark's rules and before the strategies of the joins are chosen. Statistics and the rows of finished
 * queries decide ([[PlanStats]], [[LearnedSets]]). The model is in [[JoinOrderCost]], the search in [[JoinOrderSearch]].
 *
 * '''When''': at least three relations; all their rows known; no hint on their joins; and the order passes each
 * [[OrderGate]]. It must save `spark.springbok.reorder.minGain` of the whole, scans included, and
 * `spark.springbok.reorder.minGainMs`. No more than half of the gain may be lost if predicates of unknown selectivity
 * remove no row, or if one of the uncertain estimates is off by a factor of 4. A join that the query has several times stays
 * as it is wherever that is needed to run it once ([[RepeatedJoins]]).
 *
 * '''Why the answer cannot change''': inner joins commute and associate. All conjuncts are kept, each at the lowest join
 * that has its columns ([[JoinBlock]]). Of columns of one type that equalities make equal each join has one equality
 * between its two sides, in which they are equal already: so all are equal in the end as before, and one that is added
 * follows from others (a null is equal to nothing in each of them; NaN and -0.0 are equal to the same values in each).
 * All other conjuncts must be deterministic, and none may raise an error ([[CannotRaise]]): it would now see rows
 * that another join has removed before. Nor may a column that is computed for matching rows only ([[DeferredErrors]]).
 * Outer, semi and anti joins, aggregates, limits and all else are left as they are, as relations that are joined. The columns
 * keep their order.
 *
 * What does change is the order of the result's rows. So nothing is done below what depends on it: a LIMIT without a sort
 * below it, a sample, functions of it (`first`, `collect_list`, `max_by`, `rand`), user code over partitions.
 * Sums of floating-point numbers may differ in their last digits. A sorted LIMIT and functions such as `row_number` may
 * take other rows among equal ones, as with any other change of a plan.
 *
 * Queries of little data are left to Spark (`PlanningBudget`).
 *
 * Plans with dynamic partition pruning are left alone: what prunes is a copy of a join's build side and has to stay the
 * same as it. So are bucketed tables, and subqueries, which are planned before their query and may share joins with it.
 *
 * '''Settings''': `spark.springbok.reorder.*`.
 */
object ReorderJoins extends Rule[LogicalPlan] {
  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _ if !conf.getConf(SpringbokConf.ENABLED) || !conf.getConf(ReorderConf.ENABLED) => plan
    case _ if plan.isStreaming => plan
    // A correlated subquery is planned again as part of its outer query.
    case s: Subquery if s.correlated => plan
    case _ if PlanningState.isLeft(plan) => plan
    // The batch runs until nothing changes: what has a strategy has been here. Joins of subqueries have one as well.
    case _ if !plan.exists(JoinState.isMissing) => plan
    case _ =>
      lazy val record = PlanningState.ofQuery(plan)
      RuleGuard("ReorderJoins", failed(plan, record), Some(record))(new JoinReorder(plan, record).apply())
  }

  private def failed(plan: LogicalPlan, record: PlanningState): LogicalPlan = {
    plan.setTagValue(PlanningState.tag, record)
    plan
  }
}

final private[springbok] class JoinReorder(plan: LogicalPlan, query: => PlanningState) {
  private val conf = SQLConf.get
  private lazy val stats = {
    val all = new PlanStats(lasting = query.lasting)
    all.readKeys(plan)
    all
  }
  private lazy val cluster = Cluster.of(SparkSession.active.sparkContext, conf)
  private lazy val repeated = new RepeatedJoins(plan)
  private lazy val prunes =
    plan.exists(_.expressions.exists(_.exists(_.isInstanceOf[DynamicPruning])))
  private lazy val ordered = plan.exists {
    case _: Sample | _: ObjectConsumer | _: ScriptTransformation | _: AttachDistributedSequence => true
    case _: MapGroups | _: CoGroup | _: FlatMapGroupsInR => true
    case _: MapPartitionsInRWithArrow | _: FlatMapGroupsInRWithArrow => true
    case p =>
      p.expressions.exists(OrderDependent(_)) || !p.isInstanceOf[BaseEvalPython] && p.expressions.exists(
        ofPython
      )
  }

  /** A function of Python that takes more than one row. */
  private def ofPython(e: Expression): Boolean = e.exists(_.isInstanceOf[PythonUDF])

  def apply(): LogicalPlan = go(plan, limited = false)

  /** @param limited whether a limit above takes rows in the order in which they come */
  private def go(p: LogicalPlan, limited: Boolean): LogicalPlan = {
    val below = p match {
      case s: Sort => limited && !s.global
      case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail => true
      case _ => limited
    }
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
    val order = reason(p, b, limited).fold(OrderDecision(b, stats, query.lasting.history, cluster, conf))(
      OrderDecision.left(b, _)
    )
    val out = order.chosen.fold(inner)(b.build(_, needed))
    query.log.addOrder(order.record)
    out.setTagValue(PlanningState.tag, query)
    out
  }

  /** Why the order is left without a look at its cost. */
  private def reason(top: LogicalPlan, b: JoinBlock, limited: Boolean): Option[Reason] = {
    lazy val unknown = b.items.filter(stats(_).rows.isEmpty)
    lazy val raises = raising(b)
    if (b.items.size > 60) Some(Reason.tooManyRelations(b.items.size))
    else if (b.hinted) Some(Reason.hintedOrder)
    else if (plan.isInstanceOf[Subquery] || repeated.isPlanned(top)) Some(Reason.orderOfSubquery)
    else if (prunes) Some(Reason.orderPruning)
    else if (limited || ordered) Some(Reason.rowOrder)
    else if (raises.isDefined) raises.map(c => Reason.orderRaises(ExpressionLabel(c)))
    else if (conf.bucketingEnabled && b.items.exists(bucketed)) Some(Reason.orderBucketed)
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
