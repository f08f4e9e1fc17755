package org.apache.spark.sql.springbok.report

import java.util.{Collections, LinkedHashMap, Map => JMap}

/** Maps that several threads use, and that keep what was put into them last. Who iterates over one holds its lock. */
private[report] object LatestEntries {

  /** @param most entries that are kept; the oldest ones go */
  def apply[K, V](most: Int): JMap[K, V] = Collections.synchronizedMap(new LinkedHashMap[K, V] {
    override def removeEldestEntry(eldest: JMap.Entry[K, V]): Boolean = size > most
  })
}
