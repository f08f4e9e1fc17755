package org.apache.spark.sql.springbok.report

import scala.collection.immutable.ListMap

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, SparkAdaptive}
import org.apache.spark.sql.springbok.cost.{
  Alternative,
  CostConstants,
  JoinChoice,
  JoinCost,
  JoinInput,
  Side,
  Strategy
}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinDecision, JoinState, PlanningState, RelationHint}
import org.apache.spark.sql.springbok.report.model.{AlternativeEntry, JoinEntry, ReasonEntry, SideEntry}
import org.apache.spark.sql.springbok.stats.estimate.Source

/**
 * The joins of a query: what was decided, what the plan has, what the other strategies would have cost, and how good the
 * estimates were. A decision of a re-planning that adaptive execution rejected is left out: the final plan counts.
 */
final private[springbok] class JoinReport(
    query: Option[PlanningState],
    graph: PlanGraph,
    initial: Option[PlanGraph],
    numbers: PlanNumbers,
    makeOrigins: => KeyOrigins
) {
  import JoinReport._

  private lazy val origins = makeOrigins

  private val decided = query.toSeq.flatMap(_.joins)
  private val physical = joins(graph)
  private val first = initial.map(joins).getOrElse(Map.empty)

  /** With rows and sides, and what the other strategies would have cost. */
  def entries: Seq[JoinEntry] = decided.map { j =>
    val node = physical.get(j.id)
    whole(brief(j), decision(j, node), node)
  } ++ alone.map { case (id, n) => whole(brief(id, n), None, Some(n)) }

  /** What was decided, and what the plan has. */
  def brief: Seq[JoinEntry] = decided.map(brief) ++ alone.map { case (id, n) => brief(id, n) }

  /** The joins that Springbok did not look at, numbered after the others. */
  private def alone: Seq[(Int, PlanNode)] = {
    val others = graph.nodes.filter(n => n.plan.isInstanceOf[BaseJoinExec] && JoinState.of(n.plan).isEmpty)
    val known = decided.size
    others.zipWithIndex.map { case (n, i) => (known + i, n) }
  }

  /** Execution memory in bytes that the plan's joins take of one executor, None if unknown. */
  def memoryPerExecutor: Option[Double] = {
    val each = decided.flatMap(j => physical.get(j.id).flatMap(memory(j, _)))
    Option.when(each.nonEmpty)(each.sum)
  }

  private def brief(j: JoinState): JoinEntry = {
    val node = physical.get(j.id)
    val before = first.get(j.id).map(_.plan).collect { case b: BaseJoinExec => described(b) }
    val d = decision(j, node)
    val entry = JoinEntry(
      id = j.id,
      `type` = j.joinType,
      leftKeys = j.condition.leftKeys,
      rightKeys = j.condition.rightKeys,
      otherConjuncts = j.condition.other,
      hint = Option.when(!j.userHint.isEmpty)(j.userHint.toString),
      hintHonoured = node.flatMap(n => honoured(j.userHint, join(n))),
      planned = j.planned.map(p => Strategy.label(p.choice.chosen)),
      sparkStrategy = j.sparkStrategy.map(Strategy.label),
      plannedBySpark = j.planned.forall(_.choice.chosen == Strategy.Spark),
      revised = numbers.ran && before.isDefined && before != node.map(n => described(join(n))),
      before = before,
      reason = d.map(x => ReasonEntry(x.choice.reason)),
      notes = (d.toSeq.flatMap(_.notes) ++ j.filters.separated.map(_._2)).map(ReasonEntry(_)),
      memoryBytes = node.flatMap(memory(j, _)),
      left = SideEntry.unknown,
      right = SideEntry.unknown
    )
    node.fold(entry)(found(entry, _))
  }

  /** A join that Springbok did not look at. */
  private def brief(id: Int, n: PlanNode): JoinEntry = {
    val j = join(n)
    val entry = JoinEntry(
      id = id,
      `type` = JoinState.typeName(j.joinType),
      leftKeys = j.leftKeys.map(ExpressionLabel),
      rightKeys = j.rightKeys.map(ExpressionLabel),
      otherConjuncts = j.condition.map(ExpressionLabel),
      plannedBySpark = true,
      reason = query.flatMap(_.leftToSpark).map(ReasonEntry(_)),
      left = SideEntry.unknown,
      right = SideEntry.unknown
    )
    found(entry, n)
  }

  /** Adds what the plan has. */
  private def found(entry: JoinEntry, n: PlanNode): JoinEntry = entry.copy(
    node = Some(n.id.toLong),
    fragment = Some(graph.home(n.id).toLong),
    strategy = Some(Strategy.of(join(n)).name),
    build = Strategy.build(Strategy.of(join(n))).map(Reason.side),
    distribution = Some(distribution(n))
  )

  /** Adds what EXPLAIN does not show. */
  private def whole(brief: JoinEntry, d: Option[JoinDecision], node: Option[PlanNode]): JoinEntry = {
    val (estimated, rows) = (node.flatMap(numbers.estimatedRows(_)), node.flatMap(numbers.rows(_)))
    brief.copy(
      alternatives = d.toSeq.flatMap(x => x.choice.alternatives.map(alternative(_, x.input))),
      left = side(d.flatMap(_.input).map(_.left), d.flatMap(_.leftSource), node, 0),
      right = side(d.flatMap(_.input).map(_.right), d.flatMap(_.rightSource), node, 1),
      estimatedRows = estimated,
      estimatedBytes = node.flatMap(n => numbers.estimatedBytes(PlanInput.Operator(n))),
      outputRows = rows,
      qError = Shown.qError(estimated, rows)
    )
  }

  private def side(
      in: Option[Side],
      source: Option[Source],
      node: Option[PlanNode],
      i: Int
  ): SideEntry = {
    val input = node.flatMap(_.inputs.lift(i))
    val estimated = input.flatMap(numbers.estimatedRows(_)).orElse(in.flatMap(_.rows))
    val rows = input.flatMap(numbers.rows(_))
    SideEntry(
      tables = input.fold(Seq.empty[Long])(origins.tablesOf),
      keys = node.fold(Seq.empty[Expression])(keys(_, i)).map(origins.of),
      rows = Shown.finite(in.flatMap(_.rows).orElse(estimated)),
      rowsSource = source.map(_.name).getOrElse(if (estimated.isDefined) "estimated" else "unknown"),
      rowBytes = in.map(_.rowBytes),
      boundBytes = Shown.finite(in.flatMap(_.size.boundBytes)),
      partitioned = in.exists(_.layout.partitioned),
      exchanged = input.map(exchanged),
      estimatedRows = Shown.finite(estimated),
      estimatedBytes = input.flatMap(numbers.estimatedBytes),
      observedRows = rows,
      observedBytes = input.flatMap(numbers.bytes),
      qError = Shown.qError(estimated, rows)
    )
  }

  private def keys(n: PlanNode, side: Int): Seq[Expression] =
    if (side == 0) join(n).leftKeys else join(n).rightKeys

  /**
   * The decision that led to the join that the plan has, or a later one that confirmed it: Spark keeps its plan if it is planned
   * anew as it was, and the later decision knows the sizes. For a join that the plan does not have, the last one.
   */
  private def decision(j: JoinState, node: Option[PlanNode]): Option[JoinDecision] = {
    val last = if (numbers.ran) j.latest else j.planned
    node.flatMap(n => JoinState.decision(n.plan)) match {
      case Some(kept) => last.filter(l => confirms(l.choice, kept.choice)).orElse(Some(kept))
      case None => last
    }
  }

  private def memory(j: JoinState, n: PlanNode): Option[Double] =
    decision(j, Some(n)).flatMap(_.input).flatMap { in =>
      join(n) match {
        case b: BroadcastHashJoinExec =>
          in.sides(b.buildSide).size.boundTable.map(_ * CostConstants.relationOverhead)
        // The tables of the partitions that one executor's cores work on at a time.
        case s: ShuffledHashJoinExec => in.hashTable(s.buildSide).map(_ * in.cluster.coresPerExecutor)
        case _ => None
      }
    }

  /** In Doris's words: what must be sent for the rows to meet. */
  private def distribution(n: PlanNode): String = join(n) match {
    case _: BroadcastHashJoinExec | _: BroadcastNestedLoopJoinExec => "broadcast"
    case _: ShuffledJoin =>
      n.inputs.count(exchanged) match {
        case 0 => "colocate"
        case 1 => "bucket shuffle"
        case _ => "partitioned"
      }
    case _ => "partitioned"
  }

  private def exchanged(i: PlanInput): Boolean = i match {
    case PlanInput.Fragment(_) => true
    case PlanInput.Operator(n) => PlanNumbers.keepsRows(n.plan) && n.inputs.headOption.exists(exchanged)
  }
}

private[springbok] object JoinReport {

  private def confirms(later: JoinChoice, earlier: JoinChoice): Boolean =
    later.chosen != Strategy.Spark && later.chosen == earlier.chosen && later.distribution == earlier.distribution

  /** The joins that were decided, by their numbers. */
  private[report] def joins(g: PlanGraph): Map[Int, PlanNode] =
    g.nodes.flatMap(n => JoinState.of(n.plan).map(_.id -> n)).toMap

  private def join(n: PlanNode): BaseJoinExec = n.plan.asInstanceOf[BaseJoinExec]

  /** How many joins a plan has of each strategy. */
  def strategies(graph: PlanGraph): Map[String, Long] = {
    val all = graph.nodes.map(_.plan).collect { case j: BaseJoinExec => Strategy.of(j).name }
    ListMap.from(all.groupBy(identity).view.mapValues(_.size.toLong).toSeq.sortBy(_._1))
  }

  private def described(j: BaseJoinExec): String = Strategy.label(Strategy.of(j))

  private def alternative(a: Alternative, input: Option[JoinInput]): AlternativeEntry = {
    val impala = (input, a.strategy) match {
      case (Some(in), Strategy.Broadcast(side)) =>
        Some(
          JoinCost.impalaBroadcast(in.sides(side), in.cluster.executors, in.cluster.coresPerExecutor)
        )
      case (Some(in), Strategy.ShuffledHash(side)) =>
        Some(JoinCost.sum(JoinCost.partitioned(in.probe(side), in.sides(side))))
      case _ => None
    }
    AlternativeEntry(
      strategy = Strategy.label(a.strategy),
      costBytes = Option(a.cost).filter(_ >= 0),
      impalaCostBytes = impala.filter(_ >= 0),
      terms = ListMap.from(a.terms.filter(_._2 > 0)),
      ruledOut = a.ruledOut.map(r => ReasonEntry(r.reason))
    )
  }

  /** Whether the plan has what the query's own hint asks for; None without a hint on the join's strategy. */
  private[springbok] def honoured(hint: JoinHint, j: BaseJoinExec): Option[Boolean] = {
    val sides = Seq(BuildLeft -> hint.leftHint, BuildRight -> hint.rightHint)
    val wishes = sides.flatMap { case (side, h) => h.flatMap(_.strategy).map(side -> _) }
    val has = Strategy.of(j)
    def broadcasts(side: BuildSide) = has == Strategy.Broadcast(side) || has == Strategy.NestedLoop(side)
    val shuffled = sides.exists(s => RelationHint.shuffles(s._2))
    // Of several wishes one can come true.
    Option.when(wishes.nonEmpty || shuffled)(shuffled && j.isInstanceOf[ShuffledJoin] || wishes.exists {
      case (side, BROADCAST) => broadcasts(side)
      case (side, h) if h == SHUFFLE_HASH || SparkAdaptive.prefersShuffledHash(h) =>
        has == Strategy.ShuffledHash(side)
      case (_, SHUFFLE_MERGE) => has == Strategy.SortMerge
      case (_, SHUFFLE_REPLICATE_NL) => has == Strategy.Cartesian
      case (side, NO_BROADCAST_HASH) => has != Strategy.Broadcast(side)
      case (side, _) => !broadcasts(side)
    })
  }
}
