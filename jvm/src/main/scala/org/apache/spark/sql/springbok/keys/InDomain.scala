package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.springbok.catalyst.{LinearColumn, NullOnNull}

/** Whether a column's value lies in the domain of a linear function of it, where nothing overflows; null for a null value. */
final case class InDomain(child: Expression, domain: LinearColumn.Span)
    extends UnaryExpression
    with Predicate
    with NullOnNull {
  override protected def nullSafeEval(value: Any): Any = domain.contains(value.asInstanceOf[Number].longValue)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    nullSafeCodeGen(ctx, ev, v => s"${ev.value} = ${domain.low}L <= $v && $v <= ${domain.high}L;")

  override protected def withNewChildInternal(newChild: Expression): InDomain = copy(child = newChild)
}
