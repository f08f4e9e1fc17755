package org.apache.spark.sql.springbok.keys

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
