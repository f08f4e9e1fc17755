package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.springbok.catalyst.{CannotRaise, LinearColumn, RaisesExceptions}
import org.apache.spark.sql.springbok.cost.ExpressionCost
import org.apache.spark.sql.springbok.stats.estimate.WidenedColumn
import org.apache.spark.sql.types._

/**
 * Keys of runtime filters as expressions over the columns of an operator.
 *
 * A key may be computed at a scan only if computing it there, for rows that the query would perhaps have dropped before,
 * shows nowhere: it is deterministic and cannot raise an error, in ANSI mode neither, or it is a [[TriedKey]].
 */
object FilterKey {

  /** The key that filters compare: the join key itself, or its hash where its type does not compare by value. */
  def of(key: Expression): Option[Expression] =
    if (KeyType.supported(key.dataType)) Some(key)
    else if (KeyType.hashable(key.dataType)) Some(hashed(key))
    else None

  /** The column that a key is: a column or a widening cast of one. Such expressions keep order. */
  def column(key: Expression): Option[Attribute] = WidenedColumn.unapply(key)

  /**
   * The same as the scan's own attribute: a query may spell it otherwise than the table, and files and catalogs are asked
   * by name.
   */
  def column(key: Expression, scan: SparkPlan): Option[Attribute] =
    column(key).flatMap(a => scan.output.find(_.exprId == a.exprId))

  /** The column of the scan that a key is a linear function of, such as `column + 1`. */
  def linear(key: Expression, scan: SparkPlan): Option[LinearColumn] =
    for {
      l <- LinearColumn.of(TriedKey.untried(key))
      a <- scan.output.find(_.exprId == l.column.exprId)
    } yield l.copy(column = a)

  /** The column of the scan by which it may skip rows of the key. */
  def prunable(key: Expression, scan: SparkPlan): Option[Attribute] =
    column(key, scan).orElse(linear(key, scan).map(_.column))

  /** The column that stands for a key at a scan; of several the first. */
  def anchor(key: Expression): Attribute = key.references.minBy(_.exprId.id)

  /** The column whose values a key's values come from, one by one, None if it is made of several. */
  def only(key: Expression): Option[Attribute] = Option.when(key.references.size == 1)(anchor(key))

  /** Whether evaluating it early changes nothing but time. */
  def admissible(key: Expression): Boolean = computable(key) && CannotRaise(key)

  /** The key as a filter at a scan computes it, None if it may not be computed there. */
  def atScan(key: Expression): Option[Expression] = {
    val plain = TriedKey.untried(key)
    if (!computable(plain)) None
    else if (CannotRaise(plain)) Some(plain)
    else Option.when(RaisesExceptions(plain))(TriedKey(plain))
  }

  /** Time in ns for computing a key that may raise an error. Any other key is taken to cost nothing beside its test. */
  def triedNs(key: Expression): Double = key match {
    case TriedKey(child) => ExpressionCost(child)
    case _ => 0
  }

  private def computable(key: Expression): Boolean =
    key.references.nonEmpty && key.deterministic && size(key) <= most

  /** Larger expressions cost more than the test that they are for. */
  private val most = 24

  private def size(e: Expression): Int = 1 + e.children.map(size).sum

  private def hashed(key: Expression): Expression =
    If(IsNull(key), Literal(null, LongType), XxHash64(Seq(key), 42L))
}

/** Which of the build side's keys a filter takes, and where from. */
sealed trait SourceKey
object SourceKey {

  /**
   * Key `index` of a broadcast relation with keys of these types.
   *
   * @param summarized
   *   the key that a `SummarizeKeysExec` under the exchange summarizes, where reading the relation would take long
   */
  final case class Broadcast(index: Int, types: Seq[DataType], summarized: Option[BuildKey]) extends SourceKey

  /** A key that a `SummarizeKeysExec` under the exchange summarizes. */
  final case class Shuffle(key: BuildKey) extends SourceKey

  /** The largest or the smallest value of a key that is compared and not equated, of a summary. */
  final case class Bound(key: BuildKey, comparison: Comparison) extends SourceKey
}

/**
 * A key of a build side: an expression over the exchange's output, whose columns are given by position, because a reused
 * exchange has other expression ids.
 */
final case class BuildKey(expression: Expression) {
  def dataType: DataType = expression.dataType
}

object BuildKey {
  def of(key: Expression, output: Seq[Attribute]): BuildKey = BuildKey(key.transformUp { case a: Attribute =>
    BoundReference(output.indexWhere(_.exprId == a.exprId), a.dataType, nullable = true)
  })
}
