package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.MAX_RESULT_SIZE
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, FileScan}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.types.{DoubleType, FloatType}

/** The limit of what the driver collects of one job: a result, or the rows of a broadcast with the summaries of its keys. */
object ResultLimit {

  /** In bytes. Spark's 0 is no limit. */
  def bytes(spark: SparkConf): Long =
    Option(spark.get(MAX_RESULT_SIZE)).filter(_ > 0).getOrElse(Long.MaxValue)
}

/** Plans whose tasks give the same rows in the same order when they run again, as a scan of files does. */
object FixedOrder {
  def apply(plan: SparkPlan): Boolean = plan match {
    case _: FileSourceScanExec => true
    case b: BatchScanExec => b.scan.isInstanceOf[FileScan]
    case HiveScan(table) => HiveScan.ofFiles(table)
    case _: Exchange => false
    case _ =>
      val inputs = PlanInputs.of(plan)
      inputs.nonEmpty && inputs.forall(apply)
  }
}

/** Expressions whose value may depend on the order of the rows. Spark calls some of them deterministic. */
object OrderDependent {
  def apply(e: Expression): Boolean = e.exists {
    case _: First | _: Last | _: Collect[?] | _: MaxMinBy | _: Mode => true
    case f: AggregateFunction =>
      isForeign(f) || ofRows(f.prettyName) || SparkTypes.isListAgg(f) || !f.deterministic
    case other => !other.deterministic
  }

  /** Whether the code is a user's or a connector's. */
  private def isForeign(f: AggregateFunction): Boolean =
    f.isInstanceOf[UserDefinedExpression] || f.isInstanceOf[V2Aggregator[?, ?]]

  /** With a number of rows to keep, they have classes of their own from Spark 4.2 on. */
  private val ofRows = Set("max_by", "min_by")
}

/** Where the order of rows decides which rows or values a query gives. */
object RowOrder {

  /** Whether an operator depends on it, other than a limit. */
  def matters(plan: LogicalPlan): Boolean = plan.exists {
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

  /**
   * Whether a limit takes the rows of an operator's children in the order in which they come.
   *
   * @param limited
   *   the same of the operator itself
   */
  def limited(p: LogicalPlan, limited: Boolean): Boolean = p match {
    case s: Sort => limited && !s.global
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail => true
    case _ => limited
  }
}

/** Functions of several rows whose value is the same in whichever order the rows come. */
object SameInAnyOrder {

  /** Whether a function gives the same result for the same rows in any order, and for partial results merged in any order. */
  def apply(f: AggregateFunction): Boolean = f match {
    case _: Count | _: BitAggregate | _: HyperLogLogPlusPlus => true
    // Of values that are equal under a collation, such as 'a' and 'A', the first one stays.
    case _: Min | _: Max => SparkTypes.isBinaryStable(f.dataType)
    case _: Sum | _: Average => !f.children.exists(c => c.dataType == FloatType || c.dataType == DoubleType)
    case _ => false
  }

  /**
   * Whether a window's functions give the same values to rows that tie in its order, whichever of them comes first: `rank`
   * and aggregates over a range do, `row_number` and `lag` do not.
   */
  def inWindow(e: Expression): Boolean =
    e.collect { case w: WindowExpression => w }.forall { w =>
      w.windowFunction match {
        case _: Rank | _: DenseRank | _: PercentRank | _: CumeDist => true
        case a: AggregateExpression if apply(a.aggregateFunction) =>
          w.windowSpec.frameSpecification match {
            case SpecifiedWindowFrame(RangeFrame, _, _) => true
            case SpecifiedWindowFrame(RowFrame, UnboundedPreceding, UnboundedFollowing) => true
            case _ => false
          }
        case _ => false
      }
    }
}
