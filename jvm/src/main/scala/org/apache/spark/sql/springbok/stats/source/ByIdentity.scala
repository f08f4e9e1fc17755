package org.apache.spark.sql.springbok.stats.source

import com.google.common.cache.{Cache, CacheBuilder}

/** Guava stands unshaded on the class path of every Spark from 3.5 on, for Hadoop and Hive. */
private[springbok] object ByIdentity {

  /**
   * What is known of objects for as long as others hold them, each by itself: two indexes of a table are equal whatever
   * files they have, or compare all their files.
   */
  def apply[K <: AnyRef, V <: AnyRef](): Cache[K, V] = CacheBuilder.newBuilder().weakKeys().build[K, V]()

  /** Remembers for an object what is known of an equal one, if anything is. */
  def carry[K <: AnyRef, V <: AnyRef](known: Cache[K, V], from: K, to: K): Unit =
    Option(known.getIfPresent(from)).foreach(known.put(to, _))
}
