package org.apache.spark.sql.springbok.physical

import java.nio.ByteBuffer

import org.apache.spark.SparkEnv

/** The driver's answer to a [[LateFilterPoll]] as bytes, for the same reason. */
private[physical] object LateFilterReply {
  private val never = Array[Byte](0)

  def encode(state: LateFilter.State): Array[Byte] = state match {
    case LateFilter.Open => Array.emptyByteArray
    case LateFilter.Never => never
    case arrived: LateFilter.Arrived =>
      val bytes = serializer.serialize(arrived)
      val copy = new Array[Byte](bytes.remaining)
      bytes.get(copy)
      copy
  }

  def decode(bytes: Array[Byte]): LateFilter.State = bytes.length match {
    case 0 => LateFilter.Open
    case 1 => LateFilter.Never
    case _ =>
      serializer.deserialize[LateFilter.Arrived](ByteBuffer.wrap(bytes), getClass.getClassLoader)
  }

  private def serializer = SparkEnv.get.closureSerializer.newInstance()
}
