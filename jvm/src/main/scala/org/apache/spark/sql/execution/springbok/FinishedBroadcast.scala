package org.apache.spark.sql.execution.springbok

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage}
import org.apache.spark.sql.execution.joins.HashedRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.SparkPlanning
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.{KeyFacts, KeyType}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.apache.spark.util.Utils
import org.apache.spark.util.io.ChunkedByteBuffer

/** The integral keys of a broadcast that has finished, whichever engine made it. */
object FinishedBroadcast {

  /**
   * @param key
   *   of the build side
   * @param index
   *   which of the join's keys it is
   * @param types
   *   of all its keys
   * @return
   *   None if the stage has not finished, has too many rows, or has a form that is not known
   */
  def keys(
      stage: LogicalQueryStage,
      key: Expression,
      index: Int,
      types: Seq[DataType],
      conf: SQLConf
  ): Option[KeyFacts] = stage.physicalPlan match {
    case b: BroadcastQueryStageExec
        if KeyType.isLong(key.dataType) && SparkPlanning
          .isMaterialized(stage) && BroadcastKeys.rows(b) <= conf.getConf(FilterConf.MAX_KEYS) =>
      (BroadcastKeys.made(b).value, key) match {
        case (_: HashedRelation, _) => BroadcastKeys.of(b, index, types, conf).toOption.map(_.facts)
        case (CometBatches(all), a: Attribute) =>
          val column = b.output.indexWhere(_.exprId == a.exprId)
          Option.when(column >= 0)(ofBatches(all, column, a.dataType, BroadcastKeys.rows(b)))
        case _ => None
      }
    case _ => None
  }

  private def ofBatches(all: Iterator[ColumnarBatch], column: Int, t: DataType, rows: Long): KeyFacts = {
    val facts = new KeyFacts(t, KeyFacts.listed, 0, rows)
    all.foreach(batch => add(batch.column(column), batch.numRows, t, facts))
    facts
  }

  private def add(c: ColumnVector, rows: Int, t: DataType, to: KeyFacts): Unit = {
    val value: Int => Long = t match {
      case ByteType => i => c.getByte(i).toLong
      case ShortType => i => c.getShort(i).toLong
      case IntegerType | DateType => i => c.getInt(i).toLong
      case _ => c.getLong
    }
    for (i <- 0 until rows if !c.isNullAt(i)) to.addLong(value(i))
  }
}

/** The rows of a broadcast of Apache Comet, which its own classes decode. The jar does not depend on them. */
private object CometBatches {
  private val packages = "org.apache.spark.sql.comet."

  def unapply(value: Any): Option[Iterator[ColumnarBatch]] = {
    val name = value.getClass.getName
    Option.when(name == packages + "CometBroadcastValue") {
      val chunks = value.getClass.getMethod("chunks").invoke(value).asInstanceOf[Array[ChunkedByteBuffer]]
      chunks.iterator.flatMap(decoded)
    }
  }

  private def decoded(bytes: ChunkedByteBuffer): Iterator[ColumnarBatch] = {
    val utils = Utils.classForName[Any](packages + "util.Utils$")
    utils
      .getMethod("decodeBatches", classOf[ChunkedByteBuffer], classOf[String])
      .invoke(utils.getField("MODULE$").get(null), bytes, "springbok")
      .asInstanceOf[Iterator[ColumnarBatch]]
  }
}
