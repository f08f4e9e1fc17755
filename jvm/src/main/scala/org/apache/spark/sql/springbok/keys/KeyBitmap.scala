package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.springbok.catalyst.NullOnNull

/**
 * Integral keys as one bit each over their range. It is exact, is tested without a hash, and is no larger than a bloom filter
 * if the keys lie close together, as those of a dimension do.
 *
 * @param min
 *   the smallest key
 * @param words
 *   64 keys each
 */
final class KeyBitmap(val min: Long, val words: Array[Long]) extends KeyLookup {
  def put(key: Long): Unit = {
    val i = key - min
    words((i >>> 6).toInt) |= 1L << i
  }

  /** The difference to a smaller key, as an unsigned number, is larger than any that has a word. */
  def contains(key: Long): Boolean = {
    val i = key - min
    val word = i >>> 6
    word < words.length && (words(word.toInt) >>> i & 1L) != 0
  }

  override def mayHave(key: Long): Boolean = contains(key)

  /** Integral keys are not looked up by their hashes. */
  override def mayHaveHash(hash: Long): Boolean = true
}

object KeyBitmap {

  /** None of the keys from `min` to `max` yet. */
  def over(min: Long, max: Long): KeyBitmap =
    new KeyBitmap(min, new Array[Long](((max - min) >>> 6).toInt + 1))

  /** Size in bytes, None if there is no array of that size. */
  def bytes(min: Long, max: Long): Option[Long] = {
    val width = max - min
    Option.when(width >= 0 && width < (Int.MaxValue.toLong << 3))(((width >>> 6) + 1) * 8)
  }
}

/** Whether the key is one of them; null for a null key. */
final case class BitmapContains(child: Expression, keys: Shipped[KeyBitmap])
    extends UnaryExpression
    with Predicate
    with NullOnNull {
  override protected def nullSafeEval(key: Any): Any = keys.value.contains(key.asInstanceOf[Number].longValue)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val name = classOf[KeyBitmap].getName
    val shipped = ctx.addReferenceObj("keys", keys, classOf[Shipped[?]].getName)
    val bitmap = ctx.addMutableState(name, "keyBitmap", v => s"$v = ($name) $shipped.value();")
    nullSafeCodeGen(ctx, ev, key => s"${ev.value} = $bitmap.contains($key);")
  }

  // Never the bits.
  override def toString: String = s"bitmap($child)"

  override protected def withNewChildInternal(newChild: Expression): BitmapContains = copy(child = newChild)
}
