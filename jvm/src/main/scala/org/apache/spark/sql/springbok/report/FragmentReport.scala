package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.springbok.{AppliedRuntimeFilterExec, RuntimeFilterExec}
import org.apache.spark.sql.springbok.catalyst.{ExpressionLabel, SparkOperators, TableName}
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.{JoinState, RuntimeFilter}
import org.apache.spark.sql.springbok.report.model.{
  AggregateEntry,
  AggregateFunctionEntry,
  ExchangeEntry,
  FragmentEntry,
  NodeEntry,
  PartitioningEntry
}

/** The fragments of a plan: query stages with their operators, how their rows are spread, and where they go. */
final private[springbok] class FragmentReport(graph: PlanGraph, numbers: PlanNumbers) {
  private val readers: Map[Int, Seq[Int]] = graph.fragments
    .flatMap(f => f.inputs.map(_ -> f.id))
    .groupMap(_._1)(_._2)

  def entries: Seq[FragmentEntry] = graph.fragments.map { f =>
    FragmentEntry(
      f.id.toLong,
      f.kind,
      f.inputs.map(_.toLong),
      partitioning(f),
      f.nodes.map(node),
      f.exchange.map(exchange(f, _))
    )
  }

  private def node(n: PlanNode): NodeEntry =
    NodeEntry(
      id = n.id,
      parent = n.parent.map(_.toLong),
      operator = n.plan.nodeName,
      label = FragmentReport.label(n.plan),
      join = JoinState.of(n.plan).map(_.id.toLong),
      filter = FragmentReport.filter(n.plan).map(_.id),
      estimatedRows = numbers.estimatedRows(n),
      rows = numbers.rows(n),
      aggregate = AggregateReport.of(n.plan)
    )

  private def exchange(f: PlanFragment, e: Exchange): ExchangeEntry = {
    val in = PlanInput.Fragment(f.id)
    val (estimated, rows) = (numbers.estimatedRows(in), numbers.sent(e))
    ExchangeEntry(
      partitioning = FragmentReport.partitioning(e.outputPartitioning),
      to = readers.getOrElse(f.id, Nil).map(_.toLong),
      estimatedRows = estimated,
      estimatedBytes = numbers.estimatedBytes(in),
      rows = rows,
      bytes = numbers.bytes(in),
      writtenBytes = if (numbers.ran) PlanNumbers.metric(e, "shuffleBytesWritten") else None,
      qError = Shown.qError(estimated, rows)
    )
  }

  /** How a fragment's rows are spread: as its leftmost input gives them, broadcasts apart. */
  private def partitioning(f: PlanFragment): PartitioningEntry = {
    def leaf(n: PlanNode): Option[PartitioningEntry] =
      if (n.inputs.isEmpty) Some(FragmentReport.scanned(n.plan))
      else
        n.inputs.iterator
          .flatMap {
            case PlanInput.Operator(c) => leaf(c)
            case PlanInput.Fragment(i) =>
              graph.fragments(i).exchange.map(_.outputPartitioning).collect {
                case p if !p.isInstanceOf[BroadcastPartitioning] => FragmentReport.partitioning(p)
              }
          }
          .nextOption()
    f.nodes.headOption.flatMap(leaf).getOrElse(PartitioningEntry("unpartitioned"))
  }
}

private[springbok] object FragmentReport {
  def partitioning(p: Partitioning): PartitioningEntry = p match {
    case SinglePartition => PartitioningEntry("unpartitioned")
    case h: HashPartitioningLike => spread("hash", h.expressions, h.numPartitions)
    case r: RangePartitioning => spread("range", r.ordering.map(_.child), r.numPartitions)
    case _: BroadcastPartitioning => PartitioningEntry("broadcast")
    case c: PartitioningCollection => partitioning(c.partitionings.head)
    case other => spread("random", Nil, other.numPartitions)
  }

  private def scanned(p: SparkPlan): PartitioningEntry = p match {
    case s: FileSourceScanExec if s.bucketedScan =>
      s.outputPartitioning match {
        case h: HashPartitioningLike => spread("bucketed", h.expressions, h.numPartitions)
        case _ => PartitioningEntry("random")
      }
    case _ if SparkOperators.isLocal(p) => PartitioningEntry("unpartitioned")
    case _ => PartitioningEntry("random")
  }

  private def spread(kind: String, keys: Seq[Expression], n: Int): PartitioningEntry =
    PartitioningEntry(kind, Some(keys.map(text)), Option(n.toLong).filter(_ > 0))

  def filter(p: SparkPlan): Option[RuntimeFilter] = p match {
    case f: RuntimeFilterExec => Option(f.filter)
    case f: AppliedRuntimeFilterExec => Option(f.filter)
    case _ => None
  }

  /** What an operator does, short. */
  def label(p: SparkPlan): String = {
    val text = p match {
      case s: FileSourceScanExec => s"Scan ${s.relation.fileFormat} ${TableName.of(s)}"
      case f: FilterExec => s"Filter ${ExpressionLabel(f.condition)}"
      case j: BaseJoinExec =>
        val keys = j.leftKeys.zip(j.rightKeys).map { case (l, r) => s"${this.text(l)} = ${this.text(r)}" }
        s"${Strategy.of(j).name} join ${JoinState.typeName(j.joinType)} ${keys.mkString(", ")}"
      case a: BaseAggregateExec => s"Aggregate by ${columns(a.groupingExpressions)}"
      case r: AQEShuffleReadExec => r.nodeName + r.stringArgs.mkString(" ", ", ", "")
      case s: SortExec => s"Sort by ${columns(s.sortOrder.map(_.child))}"
      case _: RuntimeFilterExec | _: AppliedRuntimeFilterExec => p.simpleString(10)
      case other => other.nodeName
    }
    Shown.plain(text)
  }

  private def columns(es: Seq[Expression]): String =
    if (es.isEmpty) "nothing" else es.map(text).mkString(", ")

  private[report] def text(e: Expression): String = Shown.plain(e match {
    case a: Attribute => a.name
    case other => ExpressionLabel(other)
  })
}

/** What an operator aggregates, and in which phase: Impala's `TAggregationNode`. */
private[report] object AggregateReport {
  def of(p: SparkPlan): Option[AggregateEntry] = p match {
    case a: BaseAggregateExec =>
      val functions =
        a.aggregateExpressions.map(f => AggregateFunctionEntry(Shown.plain(ExpressionLabel(f)), name(f.mode)))
      Some(AggregateEntry(phase(a, functions), a.groupingExpressions.map(FragmentReport.text), functions))
    case _ => None
  }

  private def phase(a: BaseAggregateExec, functions: Seq[AggregateFunctionEntry]): String =
    functions.map(_.phase).distinct match {
      case Seq(one) => one
      // Groups alone: the first operator takes rows wherever they are, and the second one whole groups.
      case Seq() => if (a.requiredChildDistributionExpressions.isEmpty) "partial" else "final"
      case _ => "mixed"
    }

  private def name(m: AggregateMode): String = m match {
    case Partial => "partial"
    case PartialMerge => "merge"
    case Final => "final"
    case Complete => "complete"
  }
}
