package org.apache.spark.sql.springbok.keys

import scala.annotation.tailrec

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.cost.FilterCost

/**
 * A split-block bloom filter, as in Parquet and Impala: a key sets one bit in each of the eight 32-bit words of one
 * 256-bit block, so that a test touches one cache line and needs no modulo.
 *
 * @param words
 *   eight words a block; the number of blocks is a power of two
 */
final class SplitBlockBloom(val words: Array[Int]) extends KeyLookup {
  require(
    words.length >= 8 && Integer.bitCount(words.length) == 1,
    s"${words.length} words are no power of two"
  )
  import SplitBlockBloom._

  def blocks: Int = words.length >>> 3

  def bytes: Long = words.length * 4L

  // The upper half of the hash picks the block, so that neighbouring blocks can be folded into one.
  private def base(hash: Long): Int = (((hash >>> 32) * blocks) >>> 32).toInt << 3

  def put(hash: Long): Unit = {
    val at = base(hash)
    val h = hash.toInt
    var i = 0
    while (i < 8) {
      words(at + i) |= 1 << ((h * salts(i)) >>> 27)
      i += 1
    }
  }

  def mightContain(hash: Long): Boolean = {
    val at = base(hash)
    val h = hash.toInt
    val w = words
    // Unrolled: the loop's own work would be as much as the test's.
    ((w(at) >>> ((h * S0) >>> 27)) & (w(at + 1) >>> ((h * S1) >>> 27)) & (w(at + 2) >>> ((h * S2) >>> 27)) &
      (w(at + 3) >>> ((h * S3) >>> 27)) & (w(at + 4) >>> ((h * S4) >>> 27)) & (w(
        at + 5
      ) >>> ((h * S5) >>> 27)) &
      (w(at + 6) >>> ((h * S6) >>> 27)) & (w(at + 7) >>> ((h * S7) >>> 27)) & 1) != 0
  }

  override def mayHave(key: Long): Boolean = mightContain(KeyType.hashLong(key))
  override def mayHaveHash(hash: Long): Boolean = mightContain(hash)

  /** The union; the larger one is folded to the size of the smaller one. */
  def union(other: SplitBlockBloom): SplitBlockBloom =
    if (blocks > other.blocks) fold.union(other)
    else if (blocks < other.blocks) union(other.fold)
    else {
      var i = 0
      while (i < words.length) {
        words(i) |= other.words(i)
        i += 1
      }
      this
    }

  /** The same keys in half the size, at a higher rate of false positives. */
  def fold: SplitBlockBloom = {
    val half = new Array[Int](words.length / 2)
    var i = 0
    while (i < half.length) {
      val from = ((i >>> 3) << 4) + (i & 7)
      half(i) = words(from) | words(from + 8)
      i += 1
    }
    new SplitBlockBloom(half)
  }

  /** The same keys in at most so many bytes. */
  @tailrec
  def foldedTo(most: Long): SplitBlockBloom = if (bytes <= math.max(32, most)) this else fold.foldedTo(most)

  /** Distinct keys, estimated from the bits that are set: each key sets one of a word's 32. */
  def estimatedKeys: Double = {
    // A loop: an iterator makes an object of each of some million words, on the driver, while a query waits.
    var (set, i) = (0L, 0)
    while (i < words.length) {
      set += Integer.bitCount(words(i))
      i += 1
    }
    val fill = math.min(set.toDouble / (words.length * 32.0), 1 - 1e-9)
    -math.log1p(-fill) * blocks * 32
  }
}

object SplitBlockBloom {
  // The salts of Parquet's specification: odd constants, one a word.
  final val S0 = 0x47b6137b
  final val S1 = 0x44974d91
  final val S2 = 0x8824ad5b
  final val S3 = 0xa2b7289d
  final val S4 = 0x705495c7
  final val S5 = 0x2df1424b
  final val S6 = 0x9efc4947
  final val S7 = 0x5c6bfb31
  private val salts = Array(S0, S1, S2, S3, S4, S5, S6, S7)

  def ofBytes(bytes: Long): SplitBlockBloom = new SplitBlockBloom(new Array[Int]((bytes / 4).toInt))

  /**
   * Rate of false positives with `keys` distinct keys: a block holds a Poisson-distributed number of them, and a foreign
   * key passes if each of its eight bits is set.
   */
  def falsePositiveRate(keys: Double, bytes: Long): Double = {
    val load = keys / (bytes / 32.0)
    val spread = 10 * math.sqrt(load) + 10
    val from = math.max(0, (load - spread).toInt)
    (from to (load + spread).toInt).iterator
      .map { k =>
        val logP = -load + k * math.log(math.max(load, 1e-300)) - logFactorial(k)
        math.exp(logP) * math.pow(1 - math.pow(31.0 / 32, k.toDouble), 8)
      }
      .sum
      .min(1.0)
  }

  /** The size by the settings; a list of keys that is there already can afford a lower rate than they ask for. */
  def bytesFor(keys: Double, conf: SQLConf, rateShare: Double = 1): Long = bytesFor(
    keys,
    conf.getConf(FilterConf.BLOOM_FPP) * rateShare,
    conf.getConf(FilterConf.BLOOM_MIN_BYTES),
    conf.getConf(FilterConf.BLOOM_MAX_BYTES)
  )

  /** Smallest power of two of bytes, within the bounds, at which `keys` reach the rate. */
  def bytesFor(keys: Double, rate: Double, min: Long, max: Long): Long = {
    val least = powerOfTwo(math.max(32, min))
    Iterator
      .iterate(least)(_ * 2)
      .takeWhile(_ <= math.max(max, least))
      .find(b => holds(keys, b) && falsePositiveRate(keys, b) <= rate)
      .getOrElse(math.max(least, java.lang.Long.highestOneBit(max)))
  }

  /**
   * Size in bytes to which a filter is best folded: tasks fill it before anyone knows how many keys there are, a smaller
   * one is tested faster, and lets more foreign rows pass.
   *
   * @param savedNs
   *   time in ns that a removed row saves
   */
  def cheapest(bytes: Long, keys: Double, savedNs: Double): Long =
    Iterator.iterate(bytes)(_ / 2).takeWhile(b => b == bytes || b >= 32 && holds(keys, b)).minBy { b =>
      FilterCost.test(b) + falsePositiveRate(keys, b) * savedNs
    }

  /** The same; about 1 for more keys than can be told. */
  def rate(keys: Double, bytes: Long): Double =
    if (holds(keys, bytes)) falsePositiveRate(keys, bytes) else 1.0

  /** Whether most foreign keys may still be told; with more in a block their rate is long to compute. */
  private def holds(keys: Double, bytes: Long): Boolean = keys / (bytes / 32.0) < 64

  private def powerOfTwo(n: Long): Long = {
    val low = java.lang.Long.highestOneBit(n)
    if (low == n) n else low * 2
  }

  private def logFactorial(k: Int): Double =
    if (k < 2) 0.0 else k * math.log(k.toDouble) - k + 0.5 * math.log(2 * math.Pi * k) + 1.0 / (12.0 * k)
}
