package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.sql.springbok.keys.{Comparison, KeyFacts}

/** What a scan is told of a build side. */
sealed private[springbok] trait PushableKeys

private[springbok] object PushableKeys {

  /** A row of the scan needs one of these keys. */
  final case class Keys(facts: KeyFacts) extends PushableKeys

  /** A row of the scan needs a value on this side of the bound. */
  final case class Bound(comparison: Comparison, value: Any) extends PushableKeys
}
