package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.springbok.catalyst.NullOnNull
import org.apache.spark.sql.springbok.keys.KeyType

/** Whether the filter may hold the key, where this task tests its rows; null for a null key. */
final case class LateContains(child: Expression, late: LateFilter)
    extends UnaryExpression
    with Predicate
    with NullOnNull {
  private def isLong: Boolean = KeyType.isLong(child.dataType)

  override protected def nullSafeEval(key: Any): Any =
    !late.here() || (
      if (isLong) late.mayHave(key.asInstanceOf[Number].longValue)
      else late.mayHaveHash(KeyType.hash(key, child.dataType))
    )

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val filter = ctx.addReferenceObj("late", late)
    nullSafeCodeGen(
      ctx,
      ev,
      key => {
        val found =
          if (isLong) s"mayHave($key)" else s"mayHaveHash(${KeyType.hashCode(key, child.dataType)})"
        s"${ev.value} = !$filter.here() || $filter.$found;"
      }
    )
  }

  override def toString: String = s"late($child)"

  override protected def withNewChildInternal(newChild: Expression): LateContains = copy(child = newChild)
}
