package org.apache.spark.sql.springbok.keys.kept

import java.util.{LinkedHashMap, Map => JMap, WeakHashMap}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkContext
import org.apache.spark.sql.springbok.keys.KeyFacts

/**
 * The keys of a build side, all of them, as a finished query has collected them.
 *
 * @param facts
 *   not to be changed
 * @param files
 *   the files that they come from
 * @param sinceMs
 *   when that query was planned, in ms since 1970
 */
final private[sql] class KeptKeys(
    val source: KeysSource,
    val files: Set[FileState],
    val facts: KeyFacts,
    val sinceMs: Long
) {
  private lazy val untagged = files.map(_.copy(tag = None))

  /** Whether a query that reads by this listing reads the same files, as far as it tells. */
  def listedBy(listing: FileListing): Boolean =
    listing.files.exists(all => all.size == files.size && all.forall(f => untagged(f) || files(f)))

  /** Whether the files are the same now, by the listing of the query and by the storage. */
  def valid(listing: FileListing, conf: Configuration): Boolean =
    listing.files.flatMap(listing.current(_, conf)).contains(files)

  /** What it takes in memory, in bytes, about. */
  val bytes: Long = {
    val values = facts.values.asScala.iterator.map(KeyFacts.bytes(_) + 64L).sum
    val named = files.toSeq.map(f => 300L + f.path.toString.length * 4 + f.tag.fold(0)(_.length) * 2).sum
    values + named + source.settings.size * 100L + source.bytes + 2000L
  }
}

/**
 * The key sets that an application keeps, in memory only. It belongs to the application, as [[KeysSource]] names all that a
 * session may do differently. The ones that were not used for the longest time are forgotten first.
 */
final private[sql] class KeptKeysStore {
  private val entries = new LinkedHashMap[KeysSource, KeptKeys](16, 0.75f, true)
  private var total = 0L

  def get(source: KeysSource): Option[KeptKeys] = synchronized(Option(entries.get(source)))

  /**
   * Keeps a set of keys, in place of an older one from the same source.
   *
   * @param most
   *   bytes of all that is kept
   */
  def keep(keys: KeptKeys, most: Long): Unit = synchronized {
    if (keys.bytes <= most) {
      Option(entries.put(keys.source, keys)).foreach(total -= _.bytes)
      total += keys.bytes
      val oldest = entries.values.iterator
      while (total > most) {
        total -= oldest.next().bytes
        oldest.remove()
      }
    }
  }

  /** The files have changed. */
  def forget(keys: KeptKeys): Unit = synchronized {
    if (entries.remove(keys.source, keys)) total -= keys.bytes
  }

  def size: Int = synchronized(entries.size)

  /** What it takes in memory, in bytes, about. */
  def bytes: Long = synchronized(total)

  def clear(): Unit = synchronized {
    entries.clear()
    total = 0
  }
}

private[sql] object KeptKeysStore {
  private val stores: JMap[SparkContext, KeptKeysStore] = new WeakHashMap()

  def of(application: SparkContext): KeptKeysStore =
    stores.synchronized(stores.computeIfAbsent(application, _ => new KeptKeysStore))
}
