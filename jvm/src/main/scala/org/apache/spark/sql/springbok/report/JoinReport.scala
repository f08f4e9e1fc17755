package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.springbok.cost.{Alternative, JoinCost, JoinInput, Side, Strategy}
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{DecisionLog, JoinDecision, JoinState, LoggedJoin}
import org.json4s.{JDouble, JField, JObject}
import org.json4s.JsonDSL._

/**
 * The joins of a query: what was decided, what the plan has, what the others would have cost, and how good the estimates
 * were. What a re-planning decided that adaptive execution then rejected is left out: the plan that is there counts.
 */
final private[springbok] class JoinReport(
    log: Option[DecisionLog],
    graph: PlanGraph,
    initial: Option[PlanGraph],
    numbers: PlanNumbers
) {
  import JoinReport._

  private val physical = joins(graph)
  private val first = initial.map(joins).getOrElse(Map.empty)

  def json: Seq[JObject] = {
    val known = log.toSeq.flatMap(_.joins)
    val alone =
      graph.nodes.filter(n => n.plan.isInstanceOf[BaseJoinExec] && JoinReport.record(n.plan).isEmpty)
    known.map(decided) ++ alone.zipWithIndex.map { case (n, i) => undecided(known.size + i, n) }
  }

  /** Execution memory in bytes that the plan's joins ask of one executor; None where none is known. */
  def memoryPerExecutor: Option[Double] = {
    val each = log.toSeq.flatMap(_.joins).flatMap(j => physical.get(j.id).flatMap(memory(j, _)))
    Option.when(each.nonEmpty)(each.sum)
  }

  private def decided(j: LoggedJoin): JObject = {
    val node = physical.get(j.id)
    val before = first.get(j.id).map(_.plan).collect { case b: BaseJoinExec => described(b) }
    val now = node.map(n => described(join(n)))
    val d = decision(j, node)
    val input = d.flatMap(_.input)
    ("id" -> j.id) ~
      ("type" -> j.joinType) ~
      ("left_keys" -> j.leftKeys) ~
      ("right_keys" -> j.rightKeys) ~
      ("other_conjuncts" -> j.other) ~
      ("hint" -> Option.when(!j.hint.isEmpty)(j.hint.toString)) ~
      ("hint_honoured" -> node.flatMap(n => honoured(j.hint, join(n)))) ~
      ("planned" -> j.planned.map(p => name(p.choice.chosen))) ~
      ("planned_by_spark" -> j.planned.forall(_.choice.chosen == Strategy.Spark)) ~
      ("revised" -> (numbers.ran && before.isDefined && before != now)) ~
      ("before" -> before) ~
      ("reason" -> d.map(x => ReportJson.reason(x.choice.reason))) ~
      ("notes" -> (d.toSeq.flatMap(_.notes) ++ j.separated).map(ReportJson.reason)) ~
      ("alternatives" -> d.toSeq.flatMap(_.choice.alternatives).map(alternative)) ~
      ("memory_bytes" -> node.flatMap(memory(j, _))) ~
      ("left" -> side(input.map(_.left), d.flatMap(_.leftSource), node, 0)) ~
      ("right" -> side(input.map(_.right), d.flatMap(_.rightSource), node, 1)) ~
      node.fold(JObject())(found)
  }

  /** A join that Springbok did not look at. */
  private def undecided(id: Int, n: PlanNode): JObject = {
    val j = join(n)
    ("id" -> id) ~
      ("type" -> LoggedJoin.typeName(j.joinType)) ~
      ("left_keys" -> j.leftKeys.map(FilterKey.label)) ~
      ("right_keys" -> j.rightKeys.map(FilterKey.label)) ~
      ("other_conjuncts" -> j.condition.map(FilterKey.label)) ~
      ("planned_by_spark" -> true) ~
      ("revised" -> false) ~
      ("notes" -> Seq.empty[JObject]) ~
      ("alternatives" -> Seq.empty[JObject]) ~
      ("left" -> side(None, None, Some(n), 0)) ~
      ("right" -> side(None, None, Some(n), 1)) ~
      found(n)
  }

  /** What the plan has. */
  private def found(n: PlanNode): JObject = {
    val j = join(n)
    val (estimated, rows) = (numbers.estimatedRows(n), numbers.rows(n))
    ("node" -> n.id) ~
      ("fragment" -> graph.home(n.id)) ~
      ("strategy" -> strategy(j)) ~
      ("build" -> built(j).map(Reason.side)) ~
      ("distribution" -> distribution(n)) ~
      ("estimated_rows" -> estimated) ~
      ("estimated_bytes" -> numbers.estimatedBytes(PlanInput.Operator(n))) ~
      ("output_rows" -> rows) ~
      ("q_error" -> ReportJson.qError(estimated, rows))
  }

  private def side(
      in: Option[Side],
      source: Option[String],
      node: Option[PlanNode],
      i: Int
  ): JObject = {
    val input = node.flatMap(_.inputs.lift(i))
    val estimated = input.flatMap(numbers.estimatedRows(_)).orElse(in.flatMap(_.rows))
    val rows = input.flatMap(numbers.rows(_))
    ("rows" -> ReportJson.finite(in.flatMap(_.rows).orElse(estimated))) ~
      ("rows_source" -> source.getOrElse(if (estimated.isDefined) "estimated" else "unknown")) ~
      ("row_bytes" -> in.map(_.rowBytes)) ~
      ("bound_bytes" -> ReportJson.finite(in.flatMap(_.size.boundBytes))) ~
      ("partitioned" -> in.exists(_.layout.partitioned)) ~
      ("exchanged" -> input.map(exchanged)) ~
      ("estimated_rows" -> ReportJson.finite(estimated)) ~
      ("estimated_bytes" -> input.flatMap(numbers.estimatedBytes)) ~
      ("observed_rows" -> rows) ~
      ("observed_bytes" -> input.flatMap(numbers.bytes)) ~
      ("q_error" -> ReportJson.qError(estimated, rows))
  }

  /** The decision that led to the join that the plan has. */
  private def decision(j: LoggedJoin, node: Option[PlanNode]): Option[JoinDecision] = {
    def fits(d: JoinDecision): Boolean = node.forall { n =>
      val chosen = d.choice.chosen
      chosen == Strategy.Spark || name(chosen) == described(join(n))
    }
    val latest = if (numbers.ran) j.latest else j.planned
    latest.filter(fits).orElse(j.planned.filter(fits)).orElse(latest)
  }

  private def memory(j: LoggedJoin, n: PlanNode): Option[Double] =
    decision(j, Some(n)).flatMap(_.input).flatMap { in =>
      val of = (s: BuildSide) => if (s == BuildLeft) (in.left, in.right) else (in.right, in.left)
      join(n) match {
        case b: BroadcastHashJoinExec => of(b.buildSide)._1.size.boundTable.map(_ * JoinCost.relationOverhead)
        case s: ShuffledHashJoinExec =>
          val (build, probe) = of(s.buildSide)
          hashTables(build, probe, in)
        case _ => None
      }
    }

  /** The tables of the partitions that one executor's cores work on at a time. */
  private def hashTables(build: Side, probe: Side, in: JoinInput): Option[Double] =
    JoinCost
      .hashTableBytes(build, probe, in.cluster.shufflePartitions, in.limits.advisoryBytes)
      .map(_ * in.cluster.coresPerExecutor)

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

  def record(p: SparkPlan): Option[JoinState] = p match {
    case j: BaseJoinExec => JoinState.of(j)
    case _ => None
  }

  private def joins(g: PlanGraph): Map[Int, PlanNode] =
    g.nodes.flatMap(n => record(n.plan).map(_.id -> n)).toMap

  private def join(n: PlanNode): BaseJoinExec = n.plan.asInstanceOf[BaseJoinExec]

  def name(s: Strategy): String = Strategy.label(s)

  private def described(j: BaseJoinExec): String = Strategy.label(strategy(j), built(j))

  def strategy(j: BaseJoinExec): String = j match {
    case _: BroadcastHashJoinExec => "broadcast hash"
    case _: ShuffledHashJoinExec => "shuffled hash"
    case _: SortMergeJoinExec => "sort-merge"
    case _: BroadcastNestedLoopJoinExec => "broadcast nested loop"
    case _ => "cartesian"
  }

  private def built(j: BaseJoinExec): Option[BuildSide] = j match {
    case h: HashJoin => Some(h.buildSide)
    case n: BroadcastNestedLoopJoinExec => Some(n.buildSide)
    case _ => None
  }

  private def alternative(a: Alternative): JObject =
    ("strategy" -> name(a.strategy)) ~
      ("cost_bytes" -> Option(a.cost).filter(_ >= 0)) ~
      ("terms" -> JObject(a.terms.collect { case (n, b) if b > 0 => JField(n, JDouble(b)) }.toList)) ~
      ("ruled_out" -> a.ruledOut.map(r => ReportJson.reason(r.reason)))

  /** Whether the plan has what the query's own hint asks for; None without a hint on the join's strategy. */
  private[springbok] def honoured(hint: JoinHint, j: BaseJoinExec): Option[Boolean] = {
    val sides = Seq(BuildLeft -> hint.leftHint, BuildRight -> hint.rightHint)
    val wishes = sides.flatMap { case (side, h) => h.flatMap(_.strategy).map(side -> _) }
    val (builds, kind) = (built(j), strategy(j))
    // Of several wishes one can come true.
    Option.when(wishes.nonEmpty)(wishes.exists {
      case (side, BROADCAST) => kind.startsWith("broadcast") && builds.contains(side)
      case (side, SHUFFLE_HASH | PREFER_SHUFFLE_HASH) => kind == "shuffled hash" && builds.contains(side)
      case (_, SHUFFLE_MERGE) => kind == "sort-merge"
      case (_, SHUFFLE_REPLICATE_NL) => kind == "cartesian"
      case (side, NO_BROADCAST_HASH) => !(kind == "broadcast hash" && builds.contains(side))
      case (side, _) => !(kind.startsWith("broadcast") && builds.contains(side))
    })
  }
}
