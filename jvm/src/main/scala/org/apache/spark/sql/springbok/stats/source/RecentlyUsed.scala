package org.apache.spark.sql.springbok.stats.source

import java.util.{LinkedHashMap => JLinkedHashMap}

/**
 * A map for several threads that forgets what was not asked for longest, once all it has weighs more than `most`.
 *
 * @param weigh
 *   a value's weight, the same each time
 */
final private[springbok] class RecentlyUsed[K, V](most: Long)(weigh: V => Long) {
  private val known = new JLinkedHashMap[K, V](64, 0.75f, true)
  private var weight = 0L

  def get(key: K): Option[V] = synchronized(Option(known.get(key)))

  /** What would push out most of the others is not kept. */
  def put(key: K, value: V): Unit = if (weigh(value) <= most / 4) synchronized {
    weight += weigh(value) - Option(known.put(key, value)).fold(0L)(weigh)
    val eldest = known.values.iterator
    while (weight > most && eldest.hasNext) {
      weight -= weigh(eldest.next())
      eldest.remove()
    }
  }
}
