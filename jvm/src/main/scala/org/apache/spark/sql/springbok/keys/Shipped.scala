package org.apache.spark.sql.springbok.keys

import scala.reflect.ClassTag

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast

/**
 * A set of keys on its way to tasks. A small one goes with the stage's own code: a broadcast stores, compresses and
 * registers its blocks while the stage waits, some ms however few its bytes.
 */
final class Shipped[T] private (set: Either[T, Broadcast[T]]) extends Serializable {
  def value: T = set match {
    case Left(small) => small
    case Right(large) => large.value
  }
}

object Shipped {

  /** Bytes up to which a set goes with the code. */
  val smallBytes: Long = 16L << 10

  /**
   * @param bytes
   *   the size of the set
   */
  def of[T: ClassTag](context: SparkContext, set: T, bytes: Long): Shipped[T] =
    new Shipped(if (bytes <= smallBytes) Left(set) else Right(context.broadcast(set)))
}
