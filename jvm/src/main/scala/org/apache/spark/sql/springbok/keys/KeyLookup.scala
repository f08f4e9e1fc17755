package org.apache.spark.sql.springbok.keys

/** A set of keys that tasks look keys up in. It may have more keys than were put into it. */
trait KeyLookup extends Serializable {

  /** Whether it may have this integral key. */
  def mayHave(key: Long): Boolean

  /** Whether it may have a key with this hash. */
  def mayHaveHash(hash: Long): Boolean
}
