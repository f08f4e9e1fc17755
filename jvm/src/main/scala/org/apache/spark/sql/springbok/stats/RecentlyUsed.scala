package org.apache.spark.sql.springbok.stats

import java.util.{Collections, LinkedHashMap => JLinkedHashMap, Map => JMap}

private[stats] object RecentlyUsed {

  /** A map for several threads that forgets what was not asked for longest, once it has more than `most` entries. */
  def map[K, V](most: Int): JMap[K, V] = Collections.synchronizedMap(
    new JLinkedHashMap[K, V](64, 0.75f, true) {
      override def removeEldestEntry(e: JMap.Entry[K, V]): Boolean = size() > most
    }
  )
}
