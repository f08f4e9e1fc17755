package org.apache.spark.sql.springbok.stats.source

import com.google.common.cache.{Cache, CacheBuilder}

/** Guava stands unshaded on the class path of every Spark from 3.5 on, for Hadoop and Hive. */
private[springbok] object ByIdentity {

  /**
   * What is known of objects for as long as others hold them, each by itself: two indexes of a table are equal whatever
   * files they have, or compare all their files.
   */
  def apply[K <: AnyRef, V <: AnyRef](): Cache[K, V] = CacheBuilder.newBuilder().weakKeys().build[K, V]()
}
