package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Coalesce,
  ConditionalExpression,
  Expression,
  If,
  IsNull,
  Literal,
  Predicate,
  UnaryExpression
}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.springbok.catalyst.{LinearColumn, NullOnNull}
import org.apache.spark.sql.types.DataType

/**
 * A key that might raise an error, as a filter at a scan computes it: null where it raises one.
 *
 * '''Why the answer cannot change''': a row whose key is null here passes the filter ([[TriedKey.passing]]). If the key
 * raised an error, the query computes it again where it did without the filter, unless it drops the row before, and fails
 * there as it did.
 *
 * An error takes as long as a thousand tests. After [[TriedKey.mostErrors]] of them a task computes no more keys, and the
 * rest of its rows pass. Which rows those are depends on their order, so a scan that gives its rows in no fixed order has
 * no such key, nor has one whose rows must go by whole groups. This does not hold for a [[TriedKey.guarded]] key.
 */
final case class TriedKey(child: Expression)
    extends UnaryExpression
    with NullOnNull
    with ConditionalExpression {
  import TriedKey._

  // Spark computes what an expression has twice before the expression, and here that would be outside of `try`.
  override def alwaysEvaluatedInputs: Seq[Expression] = Nil
  // No override: Spark 3.5 does not ask for it.
  def withNewAlwaysEvaluatedInputs(inputs: Seq[Expression]): TriedKey = this
  override def branchGroups: Seq[Seq[Expression]] = Nil

  /** Each task's copy counts for itself. */
  private var errors = 0

  override def stateful: Boolean = true
  override def nullable: Boolean = true
  override def dataType: DataType = child.dataType
  override def prettyName: String = "try"
  override def toString: String = s"try(${TriedKey.untried(this)})"
  override def sql: String = s"try(${TriedKey.untried(this).sql})"

  override def eval(input: InternalRow): Any =
    if (errors == mostErrors) null
    else
      try child.eval(input)
      catch {
        case _: Exception =>
          errors += 1
          null
      }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val key = child.genCode(ctx)
    val errors = ctx.addMutableState(CodeGenerator.JAVA_INT, "keyErrors")
    val javaType = CodeGenerator.javaType(dataType)
    ev.copy(code = code"""
      |boolean ${ev.isNull} = true;
      |$javaType ${ev.value} = ${CodeGenerator.defaultValue(dataType)};
      |if ($errors < $mostErrors) {
      |  try {
      |    ${key.code}
      |    ${ev.isNull} = ${key.isNull};
      |    ${ev.value} = ${key.value};
      |  } catch (Exception e) {
      |    $errors++;
      |    ${ev.isNull} = true;
      |  }
      |}
     """.stripMargin)
  }

  override protected def withNewChildInternal(newChild: Expression): TriedKey = copy(child = newChild)
}

object TriedKey {

  /** Errors of a task after which it passes all rows. */
  val mostErrors = 100

  /** The key as the query has it. */
  def untried(key: Expression): Expression = key match {
    case TriedKey(If(_: InDomain, child, _)) => child
    case TriedKey(child) => child
    case _ => key
  }

  /** Whether the column tells where a key raises an error: it is a linear function of the column. */
  def guardable(key: Expression): Boolean = LinearColumn.of(untried(key)).isDefined

  /**
   * The same key, computed only for values of the column for which nothing overflows, and null for others. So it raises no
   * error, and which rows pass depends on their columns alone. The rows of a group pass together: no two values of the
   * column have one key.
   */
  def guarded(key: Expression): Expression = key match {
    case TriedKey(_) =>
      val plain = untried(key)
      LinearColumn.of(plain).fold(key) { l =>
        TriedKey(If(InDomain(l.column, l.domain), plain, Literal(null, plain.dataType)))
      }
    case _ => key
  }

  def is(key: Expression): Boolean = key.isInstanceOf[TriedKey]

  /** The test of a filter on a key, which is null for a null key. A key that is null because it raised an error passes. */
  def passing(key: Expression, test: Expression): Expression =
    if (is(key)) Coalesce(Seq(test, Literal.TrueLiteral)) else test

  /** The test of a filter that no known key passes. */
  def unknown(key: Expression): Expression = if (is(key)) IsNull(key) else Literal.FalseLiteral
}

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
