package org.apache.spark.sql.springbok.stats.history

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import com.google.common.hash.Hashing

/**
 * A hash of 128 bits. It names things in the history: two things with one digest are taken for the same. Nobody is protected
 * from digests that are made to collide, which can only make an estimate wrong.
 */
final private[springbok] case class Digest(high: Long, low: Long) {

  /** 32 hexadecimal digits. */
  override def toString: String = f"$high%016x$low%016x"
}

private[springbok] object Digest {
  implicit val ordering: Ordering[Digest] = Ordering.by(d => (d.high, d.low))

  /** Of parts in this order. The tag tells kinds of things apart that have the same parts. */
  def of(tag: String, parts: Iterable[Digest]): Digest = {
    val hasher = Hashing.murmur3_128().newHasher()
    // The length ends the tag: otherwise its last letters could be those of the first part.
    hasher.putInt(tag.length).putString(tag, UTF_8)
    parts.foreach(p => hasher.putLong(p.high).putLong(p.low))
    val bytes = ByteBuffer.wrap(hasher.hash().asBytes())
    Digest(bytes.getLong(), bytes.getLong())
  }

  def of(tag: String, parts: Digest*): Digest = of(tag, parts.toSeq: Iterable[Digest])

  /** Of parts in any order. */
  def unordered(tag: String, parts: Iterable[Digest]): Digest = of(tag, parts.toSeq.sorted)

  def text(s: String): Digest = of(s, Nil)

  /** All of them, or None if one is unknown. */
  def all[T, D](each: Iterable[T])(digest: T => Option[D]): Option[Seq[D]] = {
    val found = each.iterator.map(digest).takeWhile(_.isDefined).flatten.toList
    if (found.size == each.size) Some(found) else None
  }
}
