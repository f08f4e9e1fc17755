package org.apache.spark.sql.execution.springbok

import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokConf
import org.apache.spark.sql.springbok.filter.{FilterKey, KeyFacts, KeyType, SplitBlockBloom}
import org.apache.spark.sql.springbok.report.Reason
import org.apache.spark.sql.types.DataType

/** The keys of a finished broadcast, read from the relation that the driver holds. */
object BroadcastKeys {

  /**
   * @param index
   *   which of the join's keys
   * @param types
   *   types of all its keys: several short ones are packed into one long
   */
  def read(
      stage: BroadcastQueryStageExec,
      index: Int,
      types: Seq[DataType],
      conf: SQLConf
  ): Either[Reason, KeyFacts] = {
    val rows = stage.getRuntimeStatistics.rowCount.map(_.toLong).getOrElse(0L)
    val limit = conf.getConf(SpringbokConf.FILTER_MAX_KEYS)
    if (rows > limit) Left(Reason.tooManyKeys(rows, limit))
    else
      stage.broadcast.executeBroadcast[Any]().value match {
        // Built for a null-aware anti join, which gets no filter.
        case HashedRelationWithAllNullKeys => Left(Reason.noSummary)
        case relation: HashedRelation => Right(facts(relation, rows, index, types, conf))
        case _ => Left(Reason.noSummary)
      }
  }

  private def facts(
      relation: HashedRelation,
      rows: Long,
      index: Int,
      types: Seq[DataType],
      conf: SQLConf
  ): KeyFacts = {
    val expression = relation match {
      case _: LongHashedRelation =>
        HashJoin.extractKeyExprAt(types.map(t => BoundReference(0, t, nullable = true)), index)
      case _ => BoundReference(index, types(index), nullable = true)
    }
    val key = FilterKey.of(expression).get
    val dataType = key.dataType
    val project = UnsafeProjection.create(key)
    val bloomBytes = SplitBlockBloom.bytesFor(rows.toDouble, conf)
    val long = KeyType.isLong(dataType)
    // The driver has them all: more than a task may send are worth listing, to find the ranges that they lie in.
    val listed = math.max(conf.getConf(SpringbokConf.FILTER_IN_LIMIT), if (long) KeyFacts.listed else 0)
    val out = new KeyFacts(dataType, listed, bloomBytes, rows)
    // The iterator reuses its row, and the projection its own.
    relation.keys().foreach { row =>
      val values = project(row)
      if (!values.isNullAt(0)) {
        val v = values.get(0, dataType)
        if (long) out.addLong(v.asInstanceOf[Number].longValue) else out.add(v)
      }
    }
    out
  }
}
