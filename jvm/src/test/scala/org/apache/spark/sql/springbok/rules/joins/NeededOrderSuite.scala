package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, AttributeReference, EqualTo, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, JoinHint, LocalRelation}
import org.apache.spark.sql.types.{DataType, LongType, StructType}
import org.scalatest.funsuite.AnyFunSuite

class NeededOrderSuite extends AnyFunSuite {
  // The buffer of a pandas function was asked for, which raises, and the query was left to Spark.
  test("an aggregate function of Python needs its groups sorted") {
    val (a, b) = (AttributeReference("a", LongType)(), AttributeReference("b", LongType)())
    val join = Join(LocalRelation(a), LocalRelation(b), Inner, Some(EqualTo(a, b)), JoinHint.NONE)
    val function = Alias(OpaqueFunction(a).toAggregateExpression(isDistinct = false), "f")()
    val plan = Aggregate(Seq(a), Seq(a, function), join)
    NeededOrder.mark(plan)
    assert(NeededOrder.of(join))
  }
}

/** A function that only its own operator can compute. */
final private case class OpaqueFunction(child: Expression) extends AggregateFunction {
  override def children: Seq[Expression] = Seq(child)
  override def nullable: Boolean = true
  override def dataType: DataType = LongType
  override def eval(row: InternalRow): Any = throw new UnsupportedOperationException
  override protected def doGenCode(c: CodegenContext, e: ExprCode): ExprCode =
    throw new UnsupportedOperationException
  override def aggBufferSchema: StructType = throw new UnsupportedOperationException
  override def aggBufferAttributes: Seq[AttributeReference] = throw new UnsupportedOperationException
  override def inputAggBufferAttributes: Seq[AttributeReference] = throw new UnsupportedOperationException
  override protected def withNewChildrenInternal(c: IndexedSeq[Expression]): OpaqueFunction = copy(c.head)
}
