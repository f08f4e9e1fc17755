package org.apache.spark.sql.springbok.stats.history

import java.util.{LinkedHashMap, Map => JMap, WeakHashMap}

import org.apache.spark.SparkContext

/**
 * Rows that a part of a query had when it ran last.
 *
 * @param inputs
 *   what was read, in the order of the plan's leaves
 * @param runs
 *   how often it has run
 * @param lastMs
 *   when it ran last, in ms since 1970
 */
final private[springbok] case class LearnedRows(
    rows: Long,
    inputs: Seq[InputFingerprint],
    runs: Int,
    lastMs: Long
)

/**
 * The fraction of a table that conditions of one form have selected, whatever their literals were.
 *
 * @param selectivity
 *   the geometric mean of what was observed; later runs count more than earlier ones
 */
final private[springbok] case class LearnedSelectivity(selectivity: Double, runs: Int, lastMs: Long) {

  /** With one more run. The first ten runs count equally. */
  def and(observed: Double, nowMs: Long): LearnedSelectivity = {
    val weight = 1.0 / math.min(10, runs + 1)
    val mean = (1 - weight) * math.log(selectivity) + weight * math.log(observed)
    LearnedSelectivity(math.exp(mean), runs + 1, nowMs)
  }
}

/**
 * What the finished queries of an application have taught.
 *
 * It belongs to the application, and not to a session: a server makes a session for each of its users, and their queries
 * read the same tables. A key says nothing of a session. A user who can plan a query can read its tables, so the number of
 * its rows is no secret. What an entry says is replaced whenever its part of a query runs again.
 *
 * It is bounded: what was not used for the longest time is forgotten first.
 */
final private[springbok] class History {
  private val learnedRows = new RecentlyUsed[LearnedRows]
  private val selectivities = new RecentlyUsed[LearnedSelectivity]

  def rows(key: Digest): Option[LearnedRows] = learnedRows.get(key)

  def selectivity(shape: Digest): Option[LearnedSelectivity] = selectivities.get(shape)

  /**
   * A part of a query has had these rows.
   *
   * @param most
   *   entries that are kept
   */
  def learn(key: Digest, rows: Long, inputs: Seq[InputFingerprint], nowMs: Long, most: Int): Unit =
    learnedRows.update(key, most)(before => LearnedRows(rows, inputs, before.fold(0)(_.runs) + 1, nowMs))

  /** Conditions of a form have selected this fraction, above 0 and at most 1. */
  def learnSelectivity(shape: Digest, observed: Double, nowMs: Long, most: Int): Unit =
    selectivities.update(shape, most)(
      _.fold(LearnedSelectivity(observed, 1, nowMs))(_.and(observed, nowMs))
    )

  /** The number of entries of each kind. */
  def size: Int = math.max(learnedRows.size, selectivities.size)

  def clear(): Unit = {
    learnedRows.clear()
    selectivities.clear()
  }
}

private[springbok] object History {
  private val histories: JMap[SparkContext, History] = new WeakHashMap()

  def of(application: SparkContext): History =
    histories.synchronized(histories.computeIfAbsent(application, _ => new History))
}

/** A map that forgets what was not used for the longest time. */
final private class RecentlyUsed[V] {
  private val entries = new LinkedHashMap[Digest, V](16, 0.75f, true)

  def get(key: Digest): Option[V] = synchronized(Option(entries.get(key)))

  def update(key: Digest, most: Int)(next: Option[V] => V): Unit = synchronized {
    entries.put(key, next(Option(entries.get(key))))
    val oldest = entries.keySet.iterator
    while (entries.size > most) {
      oldest.next()
      oldest.remove()
    }
  }

  def size: Int = synchronized(entries.size)

  def clear(): Unit = synchronized(entries.clear())
}
