package org.apache.spark.sql.execution.springbok

import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId, UnsafeProjection}
import org.apache.spark.sql.execution.{BaseSubqueryExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.keys.{KeyPredicates, SourceKey}
import org.apache.spark.sql.springbok.record.FilterRecord
import org.apache.spark.sql.types.{DateType, TimestampNTZType, TimestampType}

/** What the keys of a broadcast lie between, read once for both ends. */
final class BroadcastRange(key: SourceKey.Broadcast, record: FilterRecord) extends Logging {
  private var known: Option[Option[(Long, Long)]] = None

  /**
   * None if there are too many keys to look at, or the broadcast fails, which is for its join to say; of no keys at all 0
   * and -1, between which no value lies.
   */
  def apply(child: SparkPlan, conf: SQLConf): Option[(Long, Long)] = synchronized {
    if (known.isEmpty)
      known = Some(
        try read(child, conf)
        catch {
          case NonFatal(e) =>
            logDebug("A broadcast could not be read.", e)
            None
        }
      )
    known.get
  }

  private def read(child: SparkPlan, conf: SQLConf): Option[(Long, Long)] = exchange(child).flatMap { e =>
    // As long as the join, which begins to wait after this in generated code.
    val relation = e.relationFuture.get(conf.broadcastTimeout, TimeUnit.SECONDS).value
    val rows = e.metrics("numOutputRows").value
    BroadcastKeys.of(relation, rows, key.index, key.types, conf) match {
      case Left(why) =>
        record.decline(why)
        None
      case Right(keys) =>
        record.counted(rows)
        Some(keys.range.fold((0L, -1L)) { case (low, high) =>
          (low.asInstanceOf[Long], high.asInstanceOf[Long])
        })
    }
  }

  private def exchange(p: SparkPlan): Option[BroadcastExchangeExec] = p match {
    case ReusedExchangeExec(_, e) => exchange(e)
    case b: BroadcastExchangeExec => Some(b)
    case _ => None
  }
}

/**
 * The smallest or the largest key of a broadcast as a scalar subquery, for a scan that is told of it. It reads the relation
 * that the join reads, in the thread that waits for it: `child` is the join's own exchange, reused.
 *
 * @param largest
 *   which of the two
 * @param bound
 *   the output, of the type of the scan's column, which Catalyst represents as an integer. A value that the type cannot hold
 *   is replaced by the nearest one that it can. A value that a source would misread is replaced by one that bounds nothing.
 */
case class BroadcastBoundExec(key: SourceKey.Broadcast, largest: Boolean, bound: Attribute, child: SparkPlan)(
    @transient val range: BroadcastRange
) extends BaseSubqueryExec
    with UnaryExecNode {
  override protected def otherCopyArgs: Seq[AnyRef] = range :: Nil
  override def name: String = if (largest) "LargestKey" else "SmallestKey"
  override def nodeName: String = name
  override def output: Seq[Attribute] = Seq(bound)
  override def simpleString(maxFields: Int): String = s"$name ${bound.name}"

  override protected def doCanonicalize(): SparkPlan =
    BroadcastBoundExec(key, largest, bound.withExprId(ExprId(0)).withName("none"), child.canonicalized)(null)

  override def executeCollect(): Array[InternalRow] = {
    child.prepare()
    val value = range(child, conf)
      .map { case (low, high) => if (largest) high else low }
      .filter(KeyPredicates.readable(_, bound.dataType))
      .fold(if (largest) most else least)(v => math.max(least, math.min(most, v)))
    val literal = KeyPredicates.literal(value, bound.dataType)
    Array(UnsafeProjection.create(literal.toSeq).apply(InternalRow.empty).copy())
  }

  /** No value of the column is larger. Of days and instants Spark's readers can take no more than about this. */
  private def most: Long = bound.dataType match {
    case DateType => 1800000000L
    case TimestampType | TimestampNTZType => 9150000000000000000L
    case t => (1L << (8 * t.defaultSize - 1)) - 1
  }
  private def least: Long = -most - 1

  override protected def doExecute(): RDD[InternalRow] = sparkContext.parallelize(executeCollect().toSeq, 1)

  override protected def withNewChildInternal(newChild: SparkPlan): BroadcastBoundExec =
    copy(child = newChild)(range)
}
