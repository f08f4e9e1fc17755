package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.DataType

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
