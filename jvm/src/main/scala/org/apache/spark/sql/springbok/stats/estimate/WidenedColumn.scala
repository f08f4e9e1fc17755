package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Expression}
import org.apache.spark.sql.types.IntegralType

/**
 * A column, or an integral column that is cast to a wider integral type: range and number of values stay the same. They
 * change if a timestamp becomes a number, which counts seconds, or if a fraction is cut off.
 */
private[springbok] object WidenedColumn {
  def unapply(e: Expression): Option[Attribute] = e match {
    case a: Attribute => Some(a)
    case Cast(a: Attribute, to: IntegralType, _, _) if widens(a, to) => Some(a)
    case _ => None
  }

  private def widens(a: Attribute, to: IntegralType): Boolean = a.dataType match {
    case from: IntegralType => from.defaultSize <= to.defaultSize
    case _ => false
  }
}
