package org.apache.spark.sql.springbok.stats.history

import java.util.concurrent.{LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.springbok.catalyst.SparkThreads

/**
 * Reads a shared history and adds to it, on a thread of its own: no query waits for the file system. Until the folder has been
 * read, queries are planned without what it holds.
 *
 * @param take
 *   takes the entries that were read
 */
final private[history] class SharedHistory(folder: HistoryFolder, take: Seq[LearnedEntry] => Unit)
    extends Logging {
  private val pending = mutable.ArrayBuffer.empty[LearnedEntry]
  private var warned = false

  private val thread = {
    // It ends when there is nothing to do, and does not keep the application from ending.
    val pool = new ThreadPoolExecutor(
      1,
      1,
      10,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable](),
      (r: Runnable) => {
        val t = SparkThreads.bare(r, "springbok-history")
        t.setDaemon(true)
        t
      }
    )
    pool.allowCoreThreadTimeOut(true)
    pool
  }

  submit("read")(take(folder.load(System.currentTimeMillis())))

  /**
   * Adds what a query has taught. A failure loses these entries and no others. Entries that a slow file system leaves no time
   * to write are not shared: they must not fill the heap.
   */
  def add(entries: Seq[LearnedEntry]): Unit = if (entries.nonEmpty) {
    val first = pending.synchronized {
      val none = pending.isEmpty
      if (pending.size < SharedHistory.maxPending) pending ++= entries: Unit
      none
    }
    // Otherwise they are written together with those of an earlier query.
    if (first) submit("written")(folder.add(taken(), System.currentTimeMillis()))
  }

  private def taken(): Seq[LearnedEntry] = pending.synchronized {
    val all = pending.toList
    pending.clear()
    all
  }

  /** Waits until all that was added is written, for at most so many ms. */
  def flush(ms: Long): Unit = Try(thread.submit(() => (), ()).get(ms, TimeUnit.MILLISECONDS)): Unit

  private def submit(what: String)(work: => Unit): Unit = thread.execute { () =>
    try work
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        if (!warned) {
          warned = true
          logWarning(
            s"The shared history cannot be read or written: ${e.getClass.getName}. This is logged once."
          )
        }
        logDebug(s"The shared history could not be $what", e)
    }
  }
}

private object SharedHistory {

  /** Entries that wait to be written. */
  val maxPending = 10000
}
