package org.apache.spark.sql.springbok.keys

import java.util.{HashSet => JHashSet}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.springbok.catalyst.LinearColumn
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

/**
 * What is known of one key's values on the build side. Partial facts can be united; adding a partial twice changes nothing
 * but `rows`, and so nothing is decided by `rows`. Integral keys are held as `Long`, whatever their type.
 *
 * It begins with a list of values. Of more keys, hashes are kept as long as they take fewer bytes than the bloom filter that
 * comes after them: a task of many has few of the stage's keys.
 *
 * @param values
 *   all distinct non-null values, null once there were more than the limit, or took too many bytes
 * @param bloomBytes
 *   size of the bloom filter, 0 if none may be made
 * @param bloom
 *   null as long as there are `values` or hashes, or if none may be made
 * @param listBytes
 *   most bytes of listed values that are not integral
 * @param hashBytes
 *   most bytes of hashes
 */
final class KeyFacts(
    val dataType: DataType,
    val limit: Int,
    val bloomBytes: Long,
    var rows: Long = 0,
    var values: JHashSet[Any] = new JHashSet[Any](),
    var bloom: SplitBlockBloom = null,
    listBytes: Long = KeyFacts.maxListedBytes,
    hashBytes: Long = 0
) extends Serializable {
  private var hashes: KeyHashes = null
  private val long = KeyType.isLong(dataType)
  private var minLong = Long.MaxValue
  private var maxLong = Long.MinValue
  private var minAny: Any = null
  private var maxAny: Any = null

  /** Bytes of the listed values that are not integral; more than those of the distinct ones after lists were united. */
  private var listedBytes = 0L
  @transient private lazy val ordering = TypeUtils.getInterpretedOrdering(dataType)

  /** Smallest and largest value; None if there was none but nulls. */
  def range: Option[(Any, Any)] =
    if (long) Option.when(minLong <= maxLong)((minLong, maxLong))
    else Option.when(minAny != null)((minAny, maxAny))

  /** Adds a value of an integral key. */
  def addLong(value: Long): Unit = {
    if (value < minLong) minLong = value
    if (value > maxLong) maxLong = value
    if (values == null) put(KeyType.hashLong(value)) else list(value)
  }

  /** Adds a non-null value of any other key, which may be reused by the caller afterwards. */
  def add(value: Any): Unit = {
    widen(value, value)
    if (values == null) put(KeyType.hash(value, dataType))
    else if (!values.contains(value)) list(keep(value))
  }

  /** Adds what a row has of a key, if it is not null. */
  def addAny(key: Expression, row: InternalRow): Unit = {
    val v = key.eval(row)
    if (v != null) { if (long) addLong(v.asInstanceOf[Number].longValue) else add(v) }
  }

  def union(other: KeyFacts): KeyFacts = {
    rows += other.rows
    minLong = math.min(minLong, other.minLong)
    maxLong = math.max(maxLong, other.maxLong)
    if (other.minAny != null) widen(other.minAny, other.maxAny)
    if (values != null && other.values != null) {
      values.addAll(other.values): Unit
      listedBytes += other.listedBytes
      if (listedBytes > listBytes)
        listedBytes = values.asScala.iterator.map(KeyFacts.bytes(_)).sum
      if (values.size > limit || listedBytes > listBytes) overflow()
    } else {
      toBloom()
      if (bloom != null) bloom = other.addedTo(bloom)
    }
    this
  }

  /** A bloom filter with these keys as well; null if they were not kept. */
  private def addedTo(b: SplitBlockBloom): SplitBlockBloom =
    if (values == null && hashes == null) { if (bloom == null) null else b.union(bloom) }
    else {
      foreachHash(b.put)
      b
    }

  private def foreachHash(f: Long => Unit): Unit =
    if (values != null) values.asScala.foreach(v => f(KeyType.hash(v, dataType)))
    else if (hashes != null) hashes.foreach(f)

  /** Distinct non-null values, exact while they are listed, else estimated from the bloom filter. */
  def distinct: Option[Double] =
    if (values != null) Some(values.size.toDouble)
    else Option(hashes).map(_.size.toDouble).orElse(Option(bloom).map(_.estimatedKeys))

  /**
   * Integral keys as values of the column that they are a linear function of, from its domain. Keys that the function has for
   * no such value are left out.
   *
   * @param more
   *   values that the list is to have room for
   */
  def on(linear: LinearColumn, more: Int): KeyFacts = {
    val out = new KeyFacts(linear.column.dataType, limit + more, 0, rows)
    if (values != null) values.asScala.foreach(v => linear.inverse(v.asInstanceOf[Long]).foreach(out.addLong))
    else
      linear.inverse(LinearColumn.Span(minLong, maxLong)).foreach { s =>
        out.values = null
        out.addLong(s.low)
        out.addLong(s.high)
      }
    out
  }

  def copy(): KeyFacts = {
    val v = if (values == null) null else new JHashSet[Any](values)
    val b = if (bloom == null) null else new SplitBlockBloom(bloom.words.clone())
    val c = new KeyFacts(dataType, limit, bloomBytes, rows, v, b, listBytes, hashBytes)
    c.hashes = if (hashes == null) null else hashes.copy()
    c.listedBytes = listedBytes
    c.minLong = minLong
    c.maxLong = maxLong
    c.minAny = minAny
    c.maxAny = maxAny
    c
  }

  private def widen(low: Any, high: Any): Unit = {
    if (minAny == null || ordering.lt(low, minAny)) minAny = keep(low)
    if (maxAny == null || ordering.gt(high, maxAny)) maxAny = keep(high)
  }

  private def list(value: Any): Unit = if (values.add(value)) {
    if (!long) listedBytes += KeyFacts.bytes(value)
    if (values.size > limit || listedBytes > listBytes) overflow()
  }

  private def put(hash: Long): Unit =
    if (bloom != null) bloom.put(hash)
    else if (hashes != null) {
      hashes.add(hash)
      if (hashes.bytes > hashBytes) toBloom()
    }

  private def overflow(): Unit =
    if (values.size * 8L > hashBytes) toBloom()
    else {
      val made = new KeyHashes
      foreachHash(made.add)
      hashes = made
      values = null
    }

  /** Lists and hashes become a bloom filter. */
  private def toBloom(): Unit = {
    if (bloom == null && (values != null || hashes != null) && bloomBytes > 0) {
      bloom = SplitBlockBloom.ofBytes(bloomBytes)
      foreachHash(bloom.put)
    }
    values = null
    hashes = null
  }

  private def keep(value: Any): Any = value match {
    case s: UTF8String => s.copy()
    case v => v
  }
}

object KeyFacts {

  /** Most integral keys of a broadcast that are listed. */
  val listed: Int = 1 << 13

  /** Bytes of strings that a task lists and sends; texts are no keys of a dimension. */
  val maxListedBytes: Long = 128L << 10

  private[springbok] def bytes(value: Any): Long = value match {
    case s: UTF8String => s.numBytes.toLong
    case _ => 16L
  }
}

/** Distinct hashes of keys, eight bytes each. Those that were sent are a plain list, which is only read. */
final private[springbok] class KeyHashes private (private var slots: Array[Long], sent: Boolean)
    extends Serializable {
  def this() = this(new Array(64), sent = false)

  // An empty slot is 0.
  private var zero = false
  private var filled = if (sent) slots.length else 0

  def size: Int = filled + (if (zero) 1 else 0)

  /** What they take when they are sent. */
  def bytes: Long = size * 8L

  def add(hash: Long): Unit =
    if (hash == 0) zero = true
    else if (insert(hash)) {
      filled += 1
      if (filled * 3L > slots.length * 2L) grow()
    }

  /** By the hash's lower half: the upper one picks a bloom filter's block. */
  private def insert(hash: Long): Boolean = {
    val mask = slots.length - 1
    var at = hash.toInt & mask
    while (slots(at) != 0 && slots(at) != hash) at = (at + 1) & mask
    val isNew = slots(at) == 0
    slots(at) = hash
    isNew
  }

  private def grow(): Unit = {
    val old = slots
    slots = new Array(old.length * 2)
    old.foreach(h => if (h != 0) insert(h): Unit)
  }

  def foreach(f: Long => Unit): Unit = {
    if (zero) f(0)
    slots.foreach(h => if (sent || h != 0) f(h))
  }

  def copy(): KeyHashes = {
    val c = new KeyHashes(slots.clone(), sent)
    c.zero = zero
    c.filled = filled
    c
  }

  private def writeReplace(): AnyRef =
    if (sent) this
    else {
      val all = Array.newBuilder[Long]
      foreach(all += _)
      new KeyHashes(all.result(), sent = true)
    }
}
