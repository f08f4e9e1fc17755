package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, TransformExpression}

/**
 * What a connector stores together.
 *
 * @param by
 *   for each key the column, or a transform of it such as `bucket(8, id)`
 * @param aligned
 *   whether Spark adds the partitions that only the other side of a join has
 */
final private[springbok] case class StoredBy(by: Seq[Expression], aligned: Boolean) {
  def meets(other: StoredBy): Boolean = by.size == other.by.size && by.zip(other.by).forall {
    case (a: TransformExpression, b: TransformExpression) => a.isSameFunction(b)
    case (a, b) => a.isInstanceOf[Attribute] && b.isInstanceOf[Attribute]
  }
}
