package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.springbok.catalyst.LinearColumn
import org.apache.spark.sql.springbok.keys.{Comparison, KeyFacts, KeyPredicates}

/** What a scan is told of a build side. */
sealed private[springbok] trait PushableKeys {

  /** Ranges of the column's values that are read whatever the keys are, at the ends of its type: see [[on]]. */
  def anyway: Seq[LinearColumn.Span]

  /** See [[KeyPredicates.isAscii]]. */
  def areAscii: Boolean = this match {
    case PushableKeys.Keys(facts, _) => KeyPredicates.all(facts)(KeyPredicates.isAscii)
    case PushableKeys.Bound(_, value, _) => KeyPredicates.isAscii(value)
  }

  /** The predicate on a column and its kind, as `ofKeys` makes it of keys; None if the column's type has none. */
  def predicate(
      column: Attribute
  )(ofKeys: KeyFacts => Option[(String, Expression)]): Option[(String, Expression)] = {
    val found = this match {
      case PushableKeys.Keys(facts, _) => ofKeys(facts)
      case PushableKeys.Bound(c, value, _) => KeyPredicates.bound(column, c, value).map(c.kind -> _)
    }
    found.map { case (kind, p) => kind -> KeyPredicates.orWithin(column, p, anyway) }
  }

  /**
   * The same for the column that the key is a linear function of, such as `column + 1`. None if no value of the column says
   * the same.
   *
   * '''Why the answer cannot change''': for a value of the column within the function's domain, the key is computed without
   * overflow, so it is one of the keys exactly if the value is the inverse of one. For a value outside of it, the key may
   * raise an error, which the query must not lose, or wrap around, or be null. All rows with such values are read. So nothing
   * is assumed of the values that files hold, and a file that is replaced meanwhile changes nothing. A null has a null key in
   * both forms.
   */
  def on(linear: LinearColumn): Option[PushableKeys] = this match {
    case PushableKeys.Keys(facts, _) =>
      val (keys, outside) = (facts.on(linear, KeyPredicates.shortList), linear.outside)
      // A list is what most scans take.
      val few = outside.map(_.size).sum <= KeyPredicates.shortList && keys.values != null
      if (few) outside.foreach(s => (s.low to s.high).foreach(keys.addLong))
      Some(PushableKeys.Keys(keys, if (few) Nil else outside))
    case PushableKeys.Bound(c, value: Long, _) =>
      val bound = linear.solved(value)
      val turned = if (linear.negated) c.turned else c
      Option.when(bound.isValidLong)(PushableKeys.Bound(turned, bound.toLong, linear.outside))
    case _ => None
  }
}

private[springbok] object PushableKeys {

  /** A row of the scan needs one of these keys. */
  final case class Keys(facts: KeyFacts, anyway: Seq[LinearColumn.Span] = Nil) extends PushableKeys

  /** A row of the scan needs a value on this side of the bound. */
  final case class Bound(comparison: Comparison, value: Any, anyway: Seq[LinearColumn.Span] = Nil)
      extends PushableKeys
}
