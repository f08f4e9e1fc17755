package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, CostConstants, FilterCost}
import org.apache.spark.sql.springbok.keys.{
  BitmapContains,
  BloomContains,
  Comparison,
  KeyBitmap,
  KeyLookup,
  KeyPredicates,
  Shipped,
  SplitBlockBloom,
  TriedKey
}
import org.apache.spark.sql.springbok.reason.Reason

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

/** Chooses how a filter is tested row by row, from the keys of its finished build side. */
final private[springbok] class RowTestChoice(worth: FilterWorth, keys: FinishedKeys, conf: SQLConf) {
  import RowTestChoice._
  private val policy = ChoicePolicy.of(conf)
  private val types = conf.getConf(FilterConf.TYPES).toSet
  private lazy val savedNs = keys.saving(worth.filter.saving).ns

  /** A test for one of the keys. */
  def ofKeys: Either[Reason, RowTest] = {
    val expected = worth.expected(keys.retained(worth.filter.domain))
    if (keys.isEmpty) Either.cond(pays(0, 1), RowTest.Nothing, saves(0, 1))
    else if (worth.retainsTooMuch(expected)) Left(Reason.notSelective(expected))
    else
      keySet.flatMap { set =>
        val retained = expected + (1 - expected) * set.falsePositiveRate
        if (worth.retainsTooMuch(retained)) Left(Reason.bloomFull(set.falsePositiveRate))
        else if (!pays(retained, set.testNs)) Left(saves(retained, set.testNs))
        else Right(set)
      }
  }

  /** A bitmap is tested faster. It is taken if it is not larger than the bloom filter, or small. */
  private def keySet: Either[Reason, RowTest.KeySet] = {
    val bloom =
      if (!types(FilterType.Bloom)) Left(Reason.typesOff)
      else
        keys.bloomBytes(savedNs, conf).map { bytes =>
          RowTest.Bloom(bytes, SplitBlockBloom.falsePositiveRate(keys.distinct.getOrElse(0.0), bytes))
        }
    val most = math.max(smallBitmap, bloom.fold(_ => 0L, _.bytes))
    bitmap.filter(_.bytes <= most).fold[Either[Reason, RowTest.KeySet]](bloom)(Right(_))
  }

  private def bitmap: Option[RowTest.Bitmap] =
    if (!types(FilterType.In) || !policy.allowsBitmap(worth.filter.record.join)) None
    else
      for ((low, high) <- keys.integralRange; bytes <- KeyBitmap.bytes(low, high))
        yield RowTest.Bitmap(low, high, bytes)

  /** A comparison with the bound of the build side's values, which costs almost nothing. */
  def ofBound(c: Comparison, bound: Any, key: Expression): Either[Reason, RowTest] = {
    val expected = worth.expected(None)
    KeyPredicates.literal(bound, key.dataType).map(c.predicate(key, _)).toRight(Reason.noSummary).flatMap { p =>
      if (!types(FilterType.MinMax)) Left(Reason.typesOff)
      else if (pays(expected, CostConstants.compareNs)) Right(RowTest.Bound(c, p))
      else Left(saves(expected, CostConstants.compareNs))
    }
  }

  private def pays(retained: Double, testNs: Double): Boolean =
    worth.pays(retained, savedNs, worth.testNs(testNs))

  private def saves(retained: Double, testNs: Double): Reason =
    Reason.noShuffleSaved((1 - retained) * savedNs, worth.testNs(testNs))
}

private[springbok] object RowTestChoice {

  /** The size in bytes of a bitmap that is taken however few keys it has: 8 million values. */
  val smallBitmap: Long = 1L << 20
}
