package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.springbok.keys.{Comparison, KeyFacts, KeyPredicates}

/** What a scan is told of a build side. */
sealed private[springbok] trait PushableKeys {

  /** The predicate on a column and its kind, as `ofKeys` makes it of keys; None if the column's type has none. */
  def predicate(
      column: Attribute
  )(ofKeys: KeyFacts => Option[(String, Expression)]): Option[(String, Expression)] =
    this match {
      case PushableKeys.Keys(facts) => ofKeys(facts)
      case PushableKeys.Bound(c, value) => KeyPredicates.bound(column, c, value).map(c.kind -> _)
    }
}

private[springbok] object PushableKeys {

  /** A row of the scan needs one of these keys. */
  final case class Keys(facts: KeyFacts) extends PushableKeys

  /** A row of the scan needs a value on this side of the bound. */
  final case class Bound(comparison: Comparison, value: Any) extends PushableKeys
}
