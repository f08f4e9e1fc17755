package org.apache.spark.sql.springbok.stats.source

import java.util.concurrent.TimeUnit

import com.google.common.cache.{Cache, CacheBuilder}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.springbok.catalyst.{Interrupted, Survivable}

/**
 * What was read of files, as long as it fits into a fraction of the heap: a driver lives long, and the footers of a wide
 * table are large. What could not be read is tried again after a while.
 *
 * @param bytes
 *   roughly the bytes that a value takes of the heap
 * @param most
 *   bytes that all values may take; those that were not asked for longest are dropped first
 */
final private[springbok] class FileCache[K <: AnyRef, V <: AnyRef](
    bytes: V => Long,
    most: Long = FileCache.defaultMost
) extends Logging {
  import FileCache._

  private val known: Cache[K, V] = CacheBuilder
    .newBuilder()
    .maximumWeight(most)
    .weigher((_: K, value: V) => math.min(Int.MaxValue, entryBytes + bytes(value)).toInt)
    // Otherwise each of several segments has a limit of its own.
    .concurrencyLevel(1)
    .build[K, V]()

  private val failed: Cache[K, K] = CacheBuilder
    .newBuilder()
    .maximumSize(maxFailed)
    .expireAfterWrite(againNs, TimeUnit.NANOSECONDS)
    .build[K, K]()

  /** What is known without reading: None if nothing is, Some(None) if reading it has just failed. */
  def recall(key: K): Option[Option[V]] =
    Option(known.getIfPresent(key))
      .map(Some(_))
      .orElse(Option.when(failed.getIfPresent(key) != null)(None))

  /** The same, read if it is not known and `end`, as `System.nanoTime`, has not come. */
  def apply(key: K, end: Long)(read: => V): Option[Option[V]] =
    recall(key).orElse(Option.when(System.nanoTime() - end < 0)(tryToRead(key, read)))

  private def tryToRead(key: K, read: => V): Option[V] =
    try {
      val value = read
      keep(key, value)
      Some(value)
    } catch {
      case e @ Interrupted() => throw e
      // Reading a column may also fail for a native library that the driver cannot load.
      case e if Survivable(e) =>
        logDebug(s"$key cannot be read and is left out of the statistics.", e)
        fail(key)
        None
    }

  /** Reading it has failed, or took too long. */
  private[source] def fail(key: K): Unit = failed.put(key, key)

  /** A value that would push out most of the others is not kept. */
  private[source] def keep(key: K, value: V): Unit =
    if (entryBytes + bytes(value) <= most / 4) known.put(key, value)
}

private[springbok] object FileCache {

  /** For how long a file or a table that could not be read completely is not read again. */
  val againNs: Long = 60L * 1000000000

  private def defaultMost: Long = Runtime.getRuntime.maxMemory / 50
  private val maxFailed = 20000L

  /** Roughly the bytes of a key and its place in the map, most of them for the path. */
  private[source] val entryBytes = 1000L
}
