package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.keys.{
  BitmapContains,
  BloomContains,
  Comparison,
  KeyBitmap,
  KeyLookup,
  Shipped,
  SplitBlockBloom,
  TriedKey
}

/** How a filter is tested row by row. */
sealed private[springbok] trait RowTest {
  def kind: String

  /** What the keys are kept in, None if the test needs no set of keys. */
  def keySet: Option[RowTest.KeySet] = None

  /** The predicate on the filter's key. This builds the set of keys and ships it to the executors. */
  def predicate(key: Expression, keys: FinishedKeys, sc: => SparkContext): Expression
}

private[springbok] object RowTest {

  /** No key can match. */
  case object Nothing extends RowTest {
    override def kind: String = "false"
    override def predicate(key: Expression, keys: FinishedKeys, sc: => SparkContext): Expression =
      TriedKey.unknown(key)
  }

  /** The key is compared with the smallest or the largest value of the build side. */
  final case class Bound(comparison: Comparison, test: Expression) extends RowTest {
    override def kind: String = comparison.kind
    override def predicate(key: Expression, keys: FinishedKeys, sc: => SparkContext): Expression = test
  }

  /** A set of keys. */
  sealed trait KeySet extends RowTest {
    def bytes: Long

    /** The fraction of non-matching keys that pass. */
    def falsePositiveRate: Double
    def testNs: Double
    override def keySet: Option[KeySet] = Some(this)

    /** Builds the set. */
    def built(keys: FinishedKeys): KeyLookup
  }

  final case class Bloom(bytes: Long, falsePositiveRate: Double) extends KeySet {
    override def kind: String = "bloom"
    override def testNs: Double = FilterCost.test(bytes)
    override def built(keys: FinishedKeys): SplitBlockBloom = keys.bloom(bytes)
    override def predicate(key: Expression, keys: FinishedKeys, sc: => SparkContext): Expression =
      BloomContains(key, Shipped.of(sc, built(keys), bytes))
  }

  /** A bit for each value from `low` to `high`. */
  final case class Bitmap(low: Long, high: Long, bytes: Long) extends KeySet {
    override def kind: String = "bitmap"
    override def falsePositiveRate: Double = 0
    override def testNs: Double = FilterCost.testBitmap(bytes)
    override def built(keys: FinishedKeys): KeyBitmap = keys.bitmap(low, high)
    override def predicate(key: Expression, keys: FinishedKeys, sc: => SparkContext): Expression =
      BitmapContains(key, Shipped.of(sc, built(keys), bytes))
  }
}
