package org.apache.spark.sql.springbok.rules.aggregates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst._
import org.apache.spark.sql.springbok.conf.AggregateConf
import org.apache.spark.sql.springbok.cost._
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{DecidedAggregate, JoinState, PlanningState}
import org.apache.spark.sql.springbok.stats.estimate.{ColumnStats, RowGroupSample}
import org.apache.spark.sql.springbok.stats.operator.{AggregateStats, PlanStats}

/**
 * Lets each task aggregate the rows of a join's side before they are joined (Yan and Larson: Eager Aggregation and Lazy
 * Aggregation, 1995), or before ROLLUP, CUBE or GROUPING SETS repeat them. The aggregate above adds up the results. Of
 * the right side of a semi or anti join each task leaves every key once ([[ExistenceSide]]).
 *
 * {{{
 *   Aggregate c_name, sum(price)                    Aggregate c_name, sum(sum_price)
 *   +- Join s_customer = c_customer            =>   +- Join s_customer = c_customer
 *      :- sales                                        :- LocalAggregate s_customer, sum(price) AS sum_price
 *      +- customer                                     :  +- sales
 *                                                      +- customer
 * }}}
 *
 * It needs no exchange: each task groups its own rows, so the aggregate stays where it was, and takes fewer rows. Joins,
 * shuffles and the wide keys of the aggregate above cost less.
 *
 * '''When''': statistics expect the tasks to leave few rows, as the dictionaries of row groups show how often keys repeat there;
 * and what that saves above is at least 1.5 times what it costs, and at least `spark.springbok.aggregate.minGainMs`.
 *
 * '''Why the answer cannot change''': rows of a side that are equal in all columns that anything above reads, but for the
 * functions' arguments, meet the same rows of the other sides, pass the same filters and come into the same group. So all of
 * them are in the result equally often, and the functions may be computed in two steps ([[SplitAggregate]] says of which
 * functions this is true, nulls and overflow included). Keys whose values are equal without equal bytes, such as -0.0 and 0.0
 * and strings with a collation, are left out, because one of them would stand for all. The arguments and conditions are
 * deterministic, and the arguments cannot raise an error, because they see rows that a join may remove. Inner joins, outer
 * joins from both sides, and the left side of semi and anti joins. Rows that an outer join adds have nulls only, which the
 * functions skip; COUNT(*) counts each of them once. An expansion makes the same rows of equal ones, and passes the arguments
 * on as they are. The order of the result's rows may change, so the rule skips plans in which it decides about rows or values
 * ([[RowOrder]]). A group may come from a task in several rows, so nothing depends on memory or retries. Plans whose partition
 * pruning reads an aggregate are left alone, since both must stay equal. So are joins that the query has elsewhere without
 * this aggregate, because Spark runs equal exchanges once.
 *
 * '''What it gives''': TPC-DS q22 4.0 times as fast, q16 1.7, q70 1.6, q14b 1.6, q11 1.5, q14a, q35 and q94 1.4, q10, q36 and q86
 * 1.3, q74 1.2, q8, q59, q4, q2 and q69 1.0 to 1.1 times (scale 3, two cores, sorted files that Spark has written, medians of five
 * or seven runs by turns).
 *
 * '''Settings''': `spark.springbok.aggregate.*`.
 */
object AggregateBelowJoins extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _ if PlanningState.leavesAlone(plan, conf) || !conf.getConf(AggregateConf.BELOW_JOINS) => plan
    case _ if !plan.exists(isAbove) => plan
    case _ =>
      lazy val query = PlanningState.adoptQuery(plan)
      RuleGuard("AggregateBelowJoins", PlanningState.tagged(plan, query), Some(query))(
        new AggregatesOfPlan(plan, query, conf).apply()
      )
  }

  /** Whether an operator may take fewer rows if they are aggregated first. */
  def isAbove(p: LogicalPlan): Boolean = p match {
    case a: Aggregate => a.child.exists(p => p.isInstanceOf[Expand] || JoinState.isMissing(p))
    case _ => ExistenceSide.is(p, 1) && JoinState.isMissing(p)
  }
}

/** Places the aggregates of one plan, as [[AggregateBelowJoins]] says. */
final private class AggregatesOfPlan(plan: LogicalPlan, query: PlanningState, conf: SQLConf) {
  private val stats = new PlanStats(lasting = query.lasting)
  private val policy = ChoicePolicy.of(conf)
  private lazy val cluster = Cluster.of(SparkSession.active.sparkContext, conf)
  private lazy val broadcastBytes = cluster.broadcastLimit(conf)
  private lazy val equal = new EqualPlans(plan.collectWithSubqueries {
    case j: Join => j
    case a: Aggregate => a
  })

  private lazy val pruning = PruningSubqueries.of(plan).map(_.buildQuery)
  private lazy val equalToPruning = new EqualPlans(pruning)

  def apply(): LogicalPlan =
    if (
      pruning.exists(_.exists(_.isInstanceOf[Aggregate])) || RowOrder.matters(
        plan
      ) || OtherColumnarRules.all.nonEmpty
    ) plan
    else go(plan, limited = false, Nil)

  /**
   * @param limited
   *   whether a limit above takes rows in the order in which they come
   * @param above
   *   the joins above whose runtime filters may remove rows of the operator
   */
  private def go(p: LogicalPlan, limited: Boolean, above: Seq[Join]): LogicalPlan = p match {
    case l: LocalAggregate => l.mapChildren(_.mapChildren(go(_, limited, Nil)))
    case _ =>
      val joins = p match {
        case j @ Join(_, _, _: InnerLike | LeftSemi | LeftAnti, _, _) => above :+ j
        case _: Project | _: Filter => above
        case _ => Nil
      }
      val now = if (!limited && AggregateBelowJoins.isAbove(p)) placed(p, joins) else p
      now.mapChildren(go(_, RowOrder.limited(p, limited), joins))
  }

  private def placed(p: LogicalPlan, filtering: Seq[Join]): LogicalPlan = {
    val costs = places(p, filtering).filterNot(isPruning).map(place => place -> cost(place))
    val best = policy.aggregated(costs)(cheapest(costs))
    if (costs.isEmpty) p
    else {
      query.decisions.add(decided(best, costs))
      PlanningState.tagged(best.fold(p) { case (at, c) => at.rewritten(c.fold(1.0)(_.retained)) }, query)
    }
  }

  private def places(p: LogicalPlan, filtering: Seq[Join]): Seq[LocalPlace] = p match {
    case a: Aggregate if !isShared(a, a.child) => new AggregatePath(a, stats(_)).places
    case j: Join if !isShared(j, j.right) => ExistenceSide.of(j, filtering).toSeq
    case _ => Nil
  }

  /** Whether the query has the highest join below more often than the operator. */
  private def isShared(p: LogicalPlan, below: LogicalPlan): Boolean =
    below.collectFirst { case j: Join => j }.exists(equal.of(_).size > math.max(1, equal.of(p).size))

  /** Whether partition pruning reads what a join above the place reads: both must stay equal. */
  private def isPruning(p: LocalPlace): Boolean = pruning.nonEmpty && p.passed.exists {
    case Passed(j: Join, i, _) => equalToPruning.of(j.children(i)).nonEmpty
    case _ => false
  }

  private type Costs = Seq[(LocalPlace, Option[LocalAggregateCost])]

  private def cheapest(costs: Costs): Option[(LocalPlace, Option[LocalAggregateCost])] =
    costs.filter(_._2.exists(pays)).maxByOption { case (_, c) => c.fold(0.0)(gainNs) }

  private def gainNs(c: LocalAggregateCost) = c.savedNs - c.spentNs

  private def pays(c: LocalAggregateCost): Boolean = c.savedNs >= c.spentNs * leastFactor &&
    gainNs(c) / cluster.cores >= conf.getConf(AggregateConf.MIN_GAIN_MS) * 1e6

  /** How many times its cost it must save: the number of groups of a task is an estimate. */
  private def leastFactor = 1.5

  private def decided(best: Option[(LocalPlace, Option[LocalAggregateCost])], all: Costs) = {
    val (place, cost) = best.getOrElse(all.maxBy { case (_, c) => c.fold(Double.MinValue)(gainNs) })
    val reason = cost match {
      case Some(c) if best.isDefined => Reason.aggregateBelow(c.retained, c.spentNs / 1e6, c.savedNs / 1e6)
      case Some(c) => Reason.aggregateAbove(c.retained, c.spentNs / 1e6, c.savedNs / 1e6)
      case None => Reason.unknownGroups
    }
    val groups = place.aggregate.fold[Seq[Expression]](place.keys)(_.groupingExpressions)
    DecidedAggregate(
      groups.map(ExpressionLabel(_)).mkString(", "),
      best.map(_ => RelationName(place.side)),
      cost.map(_.rows),
      cost.filter(_.retained > 0).map(c => c.rows * c.retained),
      reason
    )
  }

  private def rows(p: LogicalPlan): Option[Double] = stats(p).rows.map(_.value)

  /** None if it is not known how many rows there are, or how many groups the tasks have of them. */
  private def cost(p: LocalPlace): Option[LocalAggregateCost] = for {
    n <- fewest(p)
    above <- aboveNs(p, n)
    // What it costs and saves at best. If that does not pay, no dictionary is read.
    c = LocalAggregateCost(n, 0, keys(p.keys), above)
    retained <- if (policy.ignoresCost || pays(c)) LocalGroups(stats, p).retained(n) else Some(0.0)
  } yield c.copy(retained = retained)

  /**
   * The rows that come to a place where each join above has a runtime filter: where it removes rows, it mostly has. A side that
   * is broadcast is read before the other one, and goes without.
   */
  private def fewest(p: LocalPlace): Option[Double] = p match {
    case e: ExistenceSide if isSent(e.side) =>
      val values = e.keys.flatMap(stats(e.side).groups(_)).maxOption
      val left = e.filtering.flatMap(rows).minOption
      val share = for (l <- left; v <- values) yield math.min(1.0, l / math.max(1.0, v))
      rows(e.side).map(_ * share.getOrElse(1.0))
    case _ =>
      val joins = p.passed.collect { case Passed(j: Join, i, _) if !ExistenceSide.is(j, i) => j }
      rows(p.side).map(n => (n +: joins.flatMap(rows)).min)
  }

  private def keys(by: Seq[Expression]): GroupKeys = {
    val (fixed, varying) = by.partition(e => UnsafeRow.isFixedLength(e.dataType))
    GroupKeys(fixed.size, varying.size)
  }

  /** What the joins and expansions above the place cost, and the aggregate, if `n` rows come to the place. */
  private def aboveNs(p: LocalPlace, n: Double): Option[Double] = {
    val passed = p.passed.collect {
      case Passed(j, i, _) if ExistenceSide.is(j, i) =>
        Some(LocalAggregateCost.build(n, isSent(p.side)))
      // The side whose rows may be missing is the one that is built.
      case Passed(j @ Join(_, _, t, _, _), i, _) if AggregatePath.addsNulls(t, i) =>
        for (in <- rows(j.children(i)); out <- rows(j))
          yield LocalAggregateCost.build(in, isSent(j.children(i))) + out * CostConstants.outputNs
      case Passed(j: Join, i, _) => join(j, j.children(i), j.children(1 - i))
      case Passed(e: Expand, _, _) => rows(e).map(_ * CostConstants.outputNs)
    }
    val all = passed ++ p.aggregate.map { a =>
      for (in <- rows(a.child); groups <- rows(a)) yield in * keys(a.groupingExpressions).perRowNs(groups)
    }
    Option.when(all.forall(_.isDefined))(all.flatten.sum)
  }

  private def join(j: Join, side: LogicalPlan, other: LogicalPlan): Option[Double] =
    for (in <- rows(side); out <- rows(j); build <- rows(other))
      yield LocalAggregateCost.join(math.min(in, out), out, build, isSent(other))

  /** Whether a join with the side is too large for a broadcast of it. */
  private def isSent(side: LogicalPlan): Boolean =
    stats(side).boundBytes.forall(_ * CostConstants.relationOverhead > broadcastBytes)
}

/** How many groups the tasks have of the rows of a place. */
final private case class LocalGroups(stats: PlanStats, place: LocalPlace) {
  private val all = stats(place.side)

  /**
   * The fraction of the rows that is left; None if it is unknown how many values a key has.
   *
   * A task reads about a row group of the largest table. Filters and joins below leave a part of its rows, but for those on a
   * column by which the table is clustered: they leave a row group whole or not at all.
   */
  def retained(rows: Double): Option[Double] = for {
    groups <- AggregateStats.groups(place.keys, all)
    largest <- place.side.collectLeaves().maxByOption(stats(_).rows.fold(0.0)(_.value))
    table = stats(largest).columns
    samples = keysOf(table).flatMap { case (k, c) => c.stored.inRowGroup.map(k -> _) }
    // Dictionaries of keys are asked first, because those of other columns may not have been read.
    size <- samples.values
      .map(_.rows)
      .maxOption
      .orElse(table.values.iterator.flatMap(_.stored.inRowGroup).map(_.rows).nextOption())
  } yield {
    val inTask = size * left(place.side, largest)
    def values(a: Attribute) = {
      val most = all.groups(a).getOrElse(inTask)
      Some(samples.get(a).fold(most)(s => math.min(most, s.distinct)))
    }
    val combinations = AggregateStats.combinations(AggregateStats.known(place.keys, all), all, values)
    math.max(LocalAggregateCost.retained(inTask, combinations), groups.value / math.max(1.0, rows))
  }

  /** The keys that are columns of a table, under the same or another name. */
  private def keysOf(table: AttributeMap[ColumnStats]): Map[Attribute, ColumnStats] = {
    val id = table.values.headOption.flatMap(_.table.id)
    place.keys
      .flatMap(k => all.columns.get(k).filter(c => id.isDefined && c.table.id == id).map(k -> _))
      .toMap
  }

  /** The fraction of a row group's rows that come through, of the row groups of which any row does. */
  private def left(p: LogicalPlan, table: LogicalPlan): Double = p match {
    case _ if p eq table => 1
    case j: Join =>
      val side = if (j.left.exists(_ eq table)) j.left else j.right
      part(j, side, j.condition.toSeq, table) * left(side, table)
    case Filter(condition, child) => part(p, child, Seq(condition), table) * left(child, table)
    case _ => p.children.find(_.exists(_ eq table)).fold(1.0)(left(_, table))
  }

  private def part(p: LogicalPlan, side: LogicalPlan, by: Seq[Expression], table: LogicalPlan): Double = {
    val compared = by.flatMap(_.references)
    val columns = compared.flatMap(stats(side).columns.get)
    val clustered = compared.exists(isPartitioned(table, _)) ||
      columns.exists(c => c.stored.inRowGroup.exists(s => c.ndv.exists(isClustered(s, _))))
    val fraction = for (n <- stats(p).rows; of <- stats(side).rows) yield n.value / math.max(1.0, of.value)
    if (clustered) 1.0 else math.min(1.0, fraction.getOrElse(1.0))
  }

  private def isPartitioned(table: LogicalPlan, by: Attribute): Boolean = table match {
    case FileTable(r, fs) => r.outputSet.contains(by) && FileTable.isPartitionedBy(fs, by)
    case _ => false
  }

  /** Whether a row group has far fewer values than it would have if they were spread at random. */
  private def isClustered(s: RowGroupSample, ndv: Double): Boolean =
    s.distinct <= 0.5 * ndv * (1 - math.exp(-s.rows / math.max(1.0, ndv)))
}
