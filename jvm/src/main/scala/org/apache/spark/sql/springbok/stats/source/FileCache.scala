package org.apache.spark.sql.springbok.stats.source

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.springbok.catalyst.Interrupted

/**
 * What was read of files, as long as it fits into a share of the heap: a driver lives long, and a wide table's footers are
 * large. What could not be read is tried again after a while.
 *
 * @param bytes
 *   what a value takes of the heap, roughly
 */
final private[springbok] class FileCache[K, V](bytes: V => Long) extends Logging {
  import FileCache._

  private val known = new RecentlyUsed[K, V](Runtime.getRuntime.maxMemory / heapParts)(bytes(_) + entryBytes)

  /** When something was last read in vain, as `System.nanoTime`. */
  private val failed = new RecentlyUsed[K, Long](maxFailed)(_ => 1)

  /** What is known without reading: None if nothing is, Some(None) if it has just been read in vain. */
  def recall(key: K): Option[Option[V]] = known
    .get(key)
    .map(Some(_))
    .orElse(Option.when(failed.get(key).exists(System.nanoTime() - _ < againNs))(None))

  /** The same, read if it is not known and `end`, as `System.nanoTime`, has not come. */
  def apply(key: K, end: Long)(read: => V): Option[Option[V]] =
    recall(key).orElse(Option.when(System.nanoTime() - end < 0)(tried(key, read)))

  private def tried(key: K, read: => V): Option[V] =
    try {
      val value = read
      known.put(key, value)
      Some(value)
    } catch {
      case e @ Interrupted() => throw e
      case NonFatal(e) =>
        logDebug(s"$key cannot be read and is left out of the statistics.", e)
        failed.put(key, System.nanoTime())
        None
    }
}

private[springbok] object FileCache {

  /** How long what was read in vain, or in part, is left at that. */
  val againNs: Long = 60L * 1000000000

  private val heapParts = 50
  private val maxFailed = 20000L

  /** Of a key and its place, most of it the path. */
  private val entryBytes = 1000L
}
