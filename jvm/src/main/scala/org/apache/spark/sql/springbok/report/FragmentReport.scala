package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.springbok.{AppliedRuntimeFilterExec, RuntimeFilterExec}
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.record.{FilterRecord, LoggedJoin}
import org.apache.spark.sql.springbok.rules.runtimefilters.place.FilterTargets
import org.json4s.JObject
import org.json4s.JsonDSL._

/** The fragments of a plan: query stages with their operators, how their rows are spread, and where they go. */
final private[springbok] class FragmentReport(graph: PlanGraph, numbers: PlanNumbers) {
  private val readers: Map[Int, Seq[Int]] = graph.fragments
    .flatMap(f => f.inputs.map(_ -> f.id))
    .groupMap(_._1)(_._2)

  def json: Seq[JObject] = graph.fragments.map { f =>
    ("id" -> f.id) ~
      ("kind" -> f.kind) ~
      ("inputs" -> f.inputs) ~
      ("partitioning" -> partitioning(f)) ~
      ("nodes" -> f.nodes.map(node)) ~
      ("exchange" -> f.exchange.map(exchange(f, _)))
  }

  private def node(n: PlanNode): JObject =
    ("id" -> n.id) ~
      ("parent" -> n.parent) ~
      ("operator" -> n.plan.nodeName) ~
      ("label" -> FragmentReport.label(n.plan)) ~
      ("join" -> JoinReport.record(n.plan).map(_.id)) ~
      ("filter" -> FragmentReport.filter(n.plan).flatMap(f => f.number.map(_ => f.id))) ~
      ("estimated_rows" -> numbers.estimatedRows(n)) ~
      ("rows" -> numbers.rows(n))

  private def exchange(f: PlanFragment, e: Exchange): JObject = {
    val in = PlanInput.Fragment(f.id)
    val (rows, bytes) = (numbers.sent(e), numbers.bytes(in))
    ("partitioning" -> FragmentReport.partitioning(e.outputPartitioning)) ~
      ("to" -> readers.getOrElse(f.id, Nil)) ~
      ("estimated_rows" -> numbers.estimatedRows(in)) ~
      ("estimated_bytes" -> numbers.estimatedBytes(in)) ~
      ("rows" -> rows) ~
      ("bytes" -> bytes) ~
      ("written_bytes" -> (if (numbers.ran) PlanNumbers.metric(e, "shuffleBytesWritten") else None)) ~
      ("q_error" -> ReportJson.qError(numbers.estimatedRows(in), rows))
  }

  /** How a fragment's rows are spread: as its leftmost input gives them, broadcasts apart. */
  private def partitioning(f: PlanFragment): JObject = {
    def leaf(n: PlanNode): Option[JObject] =
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
    f.nodes.headOption.flatMap(leaf).getOrElse("kind" -> "unpartitioned")
  }
}

private[springbok] object FragmentReport {
  def partitioning(p: Partitioning): JObject = p match {
    case SinglePartition => "kind" -> "unpartitioned"
    case h: HashPartitioningLike => spread("hash", h.expressions, h.numPartitions)
    case r: RangePartitioning => spread("range", r.ordering.map(_.child), r.numPartitions)
    case _: BroadcastPartitioning => "kind" -> "broadcast"
    case c: PartitioningCollection => partitioning(c.partitionings.head)
    case other => spread("random", Nil, other.numPartitions)
  }

  private def scanned(p: SparkPlan): JObject = p match {
    case s: FileSourceScanExec if s.bucketedScan =>
      s.outputPartitioning match {
        case h: HashPartitioningLike => spread("bucketed", h.expressions, h.numPartitions)
        case _ => "kind" -> "random"
      }
    case _: LocalTableScanExec | _: OneRowRelationExec => "kind" -> "unpartitioned"
    case _ => "kind" -> "random"
  }

  private def spread(kind: String, keys: Seq[Expression], n: Int): JObject =
    ("kind" -> kind) ~ ("keys" -> keys.map(text)) ~ ("partitions" -> Option(n).filter(_ > 0))

  def filter(p: SparkPlan): Option[FilterRecord] = p match {
    case f: RuntimeFilterExec if f.info != null => Some(f.info.record)
    case f: AppliedRuntimeFilterExec if f.info != null => Some(f.info.record)
    case _ => None
  }

  /** What an operator does, short. */
  def label(p: SparkPlan): String = {
    val text = p match {
      case s: FileSourceScanExec => s"Scan ${s.relation.fileFormat} ${FilterTargets.table(s)}"
      case f: FilterExec => s"Filter ${f.condition}"
      case j: BaseJoinExec =>
        val keys = j.leftKeys.zip(j.rightKeys).map { case (l, r) => s"${this.text(l)} = ${this.text(r)}" }
        s"${JoinReport.strategy(j)} join ${LoggedJoin.typeName(j.joinType)} ${keys.mkString(", ")}"
      case a: BaseAggregateExec => s"Aggregate by ${columns(a.groupingExpressions)}"
      case r: AQEShuffleReadExec => r.nodeName + r.stringArgs.mkString(" ", ", ", "")
      case s: SortExec => s"Sort by ${columns(s.sortOrder.map(_.child))}"
      case _: RuntimeFilterExec | _: AppliedRuntimeFilterExec => p.simpleString(10)
      case other => other.nodeName
    }
    ReportJson.plain(text)
  }

  private def columns(es: Seq[Expression]): String =
    if (es.isEmpty) "nothing" else es.map(text).mkString(", ")

  private def text(e: Expression): String = ReportJson.plain(e match {
    case a: Attribute => a.name
    case other => FilterKey.label(other)
  })
}
