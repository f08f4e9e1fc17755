package org.apache.spark.sql.springbok.filter

import scala.reflect.ClassTag

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast

/**
 * A set of keys on its way to tasks. A small one goes with the stage's own code: a broadcast stores, compresses and
 * registers its blocks while the stage waits, some ms however few its bytes.
 */
final class Shipped[T] private (small: Option[T], large: Option[Broadcast[T]]) extends Serializable {
  def value: T = small.getOrElse(large.get.value)
}

object Shipped {

  /** Bytes up to which a set goes with the code. */
  val smallBytes: Long = 16L << 10

  /**
   * @param bytes
   *   the size of the set
   */
  def of[T: ClassTag](context: SparkContext, set: T, bytes: Long): Shipped[T] =
    if (bytes <= smallBytes) new Shipped(Some(set), None)
    else new Shipped[T](None, Some(context.broadcast(set)))
}
