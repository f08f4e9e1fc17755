package org.apache.spark.sql.springbok.keys

import scala.reflect.ClassTag

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.springbok.catalyst.NullOnNull

/** Whether the bloom filter may hold the key; null for a null key. */
final case class BloomContains(child: Expression, bloom: Shipped[SplitBlockBloom])
    extends UnaryExpression
    with Predicate
    with NullOnNull {
  override protected def nullSafeEval(key: Any): Any =
    bloom.value.mightContain(KeyType.hash(key, child.dataType))

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val name = classOf[SplitBlockBloom].getName
    val shipped = ctx.addReferenceObj("bloom", bloom, classOf[Shipped[?]].getName)
    val filter = ctx.addMutableState(name, "bloomFilter", v => s"$v = ($name) $shipped.value();")
    nullSafeCodeGen(
      ctx,
      ev,
      key => s"${ev.value} = $filter.mightContain(${KeyType.hashCode(key, child.dataType)});"
    )
  }

  // Never the bits: they would print as megabytes.
  override def toString: String = s"bloom($child)"

  override protected def withNewChildInternal(newChild: Expression): BloomContains = copy(child = newChild)
}

/** A set of keys that tasks look keys up in. It may have more keys than were put into it. */
trait KeyLookup extends Serializable {

  /** Whether it may have this integral key. */
  def mayHave(key: Long): Boolean

  /** Whether it may have a key with this hash. */
  def mayHaveHash(hash: Long): Boolean
}

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
