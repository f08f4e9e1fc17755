package org.apache.spark.sql.springbok.stats.history

import java.util.{LinkedHashMap, Map => JMap, WeakHashMap}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkContext
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.HistoryConf

/**
 * Rows that a part of a query had when it ran last.
 *
 * @param inputs
 *   what was read, in the order of the plan's leaves
 * @param runs
 *   how often it has run
 * @param lastMs
 *   when it ran last, in ms since 1970
 * @param distinct
 *   the number of distinct values of join keys, by their columns
 */
final private[springbok] case class LearnedRows(
    rows: Long,
    inputs: Seq[InputFingerprint],
    runs: Int,
    lastMs: Long,
    distinct: Map[Digest, Long] = Map.empty
) {

  /**
   * One run more than before, if there was one. What was counted of the same inputs stays known: not every run counts all
   * keys. Of few columns, none with more values than there are rows: a bloom filter only estimates how many keys it has.
   */
  def after(before: Option[LearnedRows]): LearnedRows = {
    val known = before.filter(_.inputs == inputs).fold(Map.empty[Digest, Long])(_.distinct -- distinct.keySet)
    val few = (distinct.toSeq ++ known).take(LearnedRows.mostColumns)
    copy(
      runs = before.fold(runs)(_.runs + 1),
      distinct = few.map { case (column, n) => column -> math.min(n, rows) }.toMap
    )
  }
}

private[history] object LearnedRows {

  /** Columns of a part whose values are known. */
  val mostColumns = 8
}

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
final private[springbok] class History(shared: Option[HistoryFolder] = None) {
  private val learnedRows = new RecentlyUsed[LearnedRows]
  private val selectivities = new RecentlyUsed[LearnedSelectivity]

  private val others = shared.map(new SharedHistory(_, _.foreach(adopt)))

  def rows(key: Digest): Option[LearnedRows] = learnedRows.get(key)

  def selectivity(shape: Digest): Option[LearnedSelectivity] = selectivities.get(shape)

  /**
   * A part of a query has run once more.
   *
   * @param run
   *   what this run has counted
   * @param most
   *   entries that are kept
   */
  def learn(key: Digest, run: LearnedRows, most: Int): LearnedRows =
    learnedRows.update(key, most)(run.after)

  /** Nothing is known any more of the rows of a part. */
  def forget(key: Digest): Unit = learnedRows.remove(key)

  /** Conditions of a form have selected this fraction, above 0 and at most 1. */
  def learnSelectivity(shape: Digest, observed: Double, nowMs: Long, most: Int): LearnedSelectivity =
    selectivities.update(shape, most)(
      _.fold(LearnedSelectivity(observed, 1, nowMs))(_.and(observed, nowMs))
    )

  /** Shares with other applications what a query has taught, if they share a history. */
  def share(entries: => Seq[LearnedEntry]): Unit = others.foreach(_.add(entries.filter(HistoryLine.fits)))

  /** Whether it shares what it learns. */
  def isShared: Boolean = others.isDefined

  /** Waits until what others have learned is read and what is shared is written, for at most so many ms. */
  def flush(ms: Long): Unit = others.foreach(_.flush(ms))

  /** An entry of another application, unless this one has learned it later. */
  private def adopt(e: LearnedEntry): Unit = e match {
    case LearnedEntry.OfRows(key, read, _) =>
      learnedRows.update(key, History.mostAdopted)(_.filter(_.lastMs >= read.lastMs).getOrElse(read)): Unit
    case LearnedEntry.OfSelectivity(key, read) =>
      selectivities.update(key, History.mostAdopted)(_.filter(_.lastMs >= read.lastMs).getOrElse(read)): Unit
  }

  /** The number of entries of each kind. */
  def size: Int = math.max(learnedRows.size, selectivities.size)

  def clear(): Unit = {
    learnedRows.clear()
    selectivities.clear()
  }
}

private[springbok] object History {
  private val histories: JMap[SparkContext, History] = new WeakHashMap()

  /** The folder reads no more of them. */
  private val mostAdopted = Int.MaxValue

  /** The history of an application. The settings of the first query that asks say where it is shared. */
  def of(application: SparkContext): History = histories.synchronized {
    histories.computeIfAbsent(application, _ => new History(folder(application)))
  }

  private def folder(application: SparkContext): Option[HistoryFolder] = {
    val conf = SQLConf.get
    conf.getConf(HistoryConf.PATH).map { path =>
      val (bytes, entries) = (conf.getConf(HistoryConf.MAX_BYTES), conf.getConf(HistoryConf.MAX_ENTRIES))
      new HistoryFolder(new Path(path), application.hadoopConfiguration, bytes, entries)
    }
  }

  /** An application ends: waits a little for what is being written. */
  def endAll(): Unit = histories.synchronized(histories.values.asScala.toList).foreach(_.flush(endMs))

  private val endMs = 3000L
}

/** A map that forgets what was not used for the longest time. */
final private class RecentlyUsed[V] {
  private val entries = new LinkedHashMap[Digest, V](16, 0.75f, true)

  def get(key: Digest): Option[V] = synchronized(Option(entries.get(key)))

  /** @return the new value */
  def update(key: Digest, most: Int)(next: Option[V] => V): V = synchronized {
    val value = next(Option(entries.get(key)))
    entries.put(key, value)
    val oldest = entries.keySet.iterator
    while (entries.size > most) {
      oldest.next()
      oldest.remove()
    }
    value
  }

  def remove(key: Digest): Unit = synchronized(entries.remove(key)): Unit

  def size: Int = synchronized(entries.size)

  def clear(): Unit = synchronized(entries.clear())
}
