package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Expression}
import org.apache.spark.sql.types.IntegralType

/**
 * A column, also one of whole numbers that is cast to wider ones: it has the same range and number of values. A timestamp
 * as a number counts seconds, and a fraction that is cut off meets others.
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
