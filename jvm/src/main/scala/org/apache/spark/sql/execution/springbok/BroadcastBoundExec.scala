package org.apache.spark.sql.execution.springbok

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec}
import org.apache.spark.sql.springbok.filter.KeyPredicates
import org.apache.spark.sql.springbok.report.FilterRecord

/**
 * The smallest or the largest key of a broadcast as one row, for a scan that is told of it as of a scalar subquery. It
 * reads the relation that the join reads: `child` is the join's own exchange, reused.
 *
 * @param largest
 *   which of the two
 * @param bound
 *   the output, of the type of the scan's column, a whole number or what is one inside: what its type cannot hold is
 *   replaced by the nearest that it can; of no keys at all the two are 0 and -1, between which no value lies
 * @param records
 *   the filters that are made of it
 */
case class BroadcastBoundExec(key: SourceKey.Broadcast, largest: Boolean, bound: Attribute, child: SparkPlan)(
    @transient val records: Seq[FilterRecord]
) extends UnaryExecNode {
  override protected def otherCopyArgs: Seq[AnyRef] = records :: Nil
  override def nodeName: String = if (largest) "LargestKey" else "SmallestKey"
  override def output: Seq[Attribute] = Seq(bound)
  override def simpleString(maxFields: Int): String = s"$nodeName ${bound.name}"

  override protected def doCanonicalize(): SparkPlan =
    BroadcastBoundExec(key, largest, bound.withExprId(ExprId(0)).withName("none"), child.canonicalized)(Nil)

  override def executeCollect(): Array[InternalRow] = {
    val value = range match {
      case Some((low, high)) => math.max(least, math.min(most, if (largest) high else low))
      case None => if (largest) most else least
    }
    val literal = KeyPredicates.literal(value, bound.dataType)
    Array(UnsafeProjection.create(literal.toSeq).apply(InternalRow.empty).copy())
  }

  /** What the keys lie between; None if there are too many of them to look. */
  private def range: Option[(Long, Long)] = {
    val relation = child.executeBroadcast[Any]().value
    BroadcastKeys.of(relation, rows, key.index, key.types, conf) match {
      case Left(why) =>
        records.foreach(_.decline(why))
        None
      case Right(keys) =>
        records.foreach(_.buildRows = Some(rows))
        Some(keys.facts.range.fold((0L, -1L)) { case (low, high) =>
          (low.asInstanceOf[Long], high.asInstanceOf[Long])
        })
    }
  }

  private def rows: Long = (child match {
    case ReusedExchangeExec(_, e) => e
    case e => e
  }) match {
    case b: BroadcastExchangeExec => b.metrics("numOutputRows").value
    case _ => 0L
  }

  private def most: Long = (1L << (8 * bound.dataType.defaultSize - 1)) - 1
  private def least: Long = -most - 1

  override protected def doExecute(): RDD[InternalRow] = sparkContext.parallelize(executeCollect().toSeq, 1)

  override protected def withNewChildInternal(newChild: SparkPlan): BroadcastBoundExec =
    copy(child = newChild)(records)
}
