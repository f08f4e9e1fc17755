package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions._

/** What is known of the distinct values of a string column. */
trait ColumnValues {

  /** The most distinct values that there can be, None if unknown. */
  def atMost: Option[Int]

  /**
   * Selectivity of a predicate on the column alone; None if the values do not tell.
   *
   * @param rows
   *   rows of the table
   * @param nulls
   *   fraction of them where the column is null, None if unknown
   */
  def selectivity(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity]
}

private[estimate] object ColumnValues {

  /** How much more frequent than what was seen suggests a value may be in the files that were not read. */
  val skew = 10.0
}

/**
 * The distinct values, without null.
 *
 * @param values
 *   in Catalyst's representation
 * @param whole
 *   whether there are no other values; otherwise no others were seen
 * @param even
 *   whether the way they are stored suggests that no value is much more frequent than the others, nor in long runs
 */
final case class FewValues(values: IndexedSeq[Any], whole: Boolean, even: Boolean) extends ColumnValues {
  override def atMost: Option[Int] = Option.when(whole)(values.size)

  /**
   * Evaluates the predicate for each value and takes all values for equally frequent. None if the predicate cannot be
   * evaluated. A predicate that holds for no value that was seen counts as half a value. For the bound, an even value may
   * be ten times as frequent as on average, and each value that does not match is there at least once.
   */
  override def selectivity(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity] =
    EvaluatedPredicate
      .of(predicate, column, Seq(values), nulls)
      .map(e => part(e.found.head, rows, nulls.getOrElse(0.0), e.holdsForNull))

  private def part(found: Matches, rows: Double, nulls: Double, holdsForNull: Boolean): Selectivity = {
    val matching = found.matching * values.size.toDouble / math.max(1, found.evaluated)
    val notNull = 1 - nulls
    val expected = notNull * math.max(0.5, matching) / values.size
    val others = if (whole) (values.size - matching) / math.max(1.0, rows) else 0.0
    val most = if (even) expected * ColumnValues.skew else 1.0
    val bound = math.max(expected, math.min(most, notNull - others))
    val more = if (holdsForNull) nulls else 0.0
    Selectivity(math.min(1.0, expected + more), math.min(1.0, bound + more))
  }
}

/**
 * There are too many values to list, or they are of different frequency.
 *
 * @param distinct
 *   distinct values of a row group, at least
 * @param mostOfOne
 *   largest fraction of the rows that may have the same value, as far as the encoding tells
 * @param samples
 *   rows of the row groups that were read; empty if they are too large for that
 * @param whole
 *   whether there are no other row groups
 */
final case class ManyValues(
    distinct: Double,
    mostOfOne: Double,
    samples: Seq[SampledRows] = Nil,
    whole: Boolean = false
) extends ColumnValues {
  import ManyValues._

  override def atMost: Option[Int] = None

  /** The predicate is evaluated for the samples. Without them, only one that lists values has a selectivity. */
  override def selectivity(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity] = {
    val notNull = 1 - nulls.getOrElse(0.0)
    // A longer list may hold all values that there are.
    val values = listed(predicate).filter(_ < distinct)
    val evaluated =
      if (samples.isEmpty) None
      else EvaluatedPredicate.of(predicate, column, samples.map(_.values), nulls)
    evaluated
      .map(ofSamples(_, values, notNull))
      .orElse(values.map(n => Selectivity(part(n / distinct, notNull), part(n * mostOfOne, notNull))))
  }

  private def ofSamples(e: EvaluatedPredicate, values: Option[Int], notNull: Double): Selectivity = {
    val seen = mean(e.found)(_.expectedFraction(_))
    // A sample overlooks rare values. Each of them has its share of the rows at most.
    val rare = values.map(_ / distinct).filter(_ => e.found.map(_.matching).sum < SampledRows.frequent)
    val bound = mean(e.found)(_.upperBound(_)) * (if (whole) 1 else ColumnValues.skew)
    val ofNull = if (e.holdsForNull) 1 - notNull else 0.0
    val expected = part(rare.fold(seen)(math.min(_, seen)), notNull) + ofNull
    Selectivity(expected, math.max(expected, part(bound, notNull) + ofNull))
  }

  /** The mean over all rows, by what is said of each sample. */
  private def mean(found: Seq[Matches])(fraction: (SampledRows, Matches) => Double): Double =
    samples.zip(found).map { case (s, m) => s.rows * fraction(s, m) }.sum /
      math.max(1.0, samples.map(_.rows).sum)
}

object ManyValues {

  private def part(fraction: Double, notNull: Double): Double = math.min(1.0, fraction) * notNull

  /** Number of values of which a row must have one. Spark adds that it must not be null. */
  private def listed(e: Expression): Option[Int] = e match {
    case And(IsNotNull(_: Attribute), other) => listed(other)
    case And(other, IsNotNull(_: Attribute)) => listed(other)
    case EqualTo(_: Attribute, v) if v.foldable => Some(1)
    case EqualTo(v, _: Attribute) if v.foldable => Some(1)
    case In(_: Attribute, list) if list.forall(_.foldable) => Some(list.size)
    case InSet(_: Attribute, set) => Some(set.size)
    case _ => None
  }
}

/** What a table's files tell of the values of one column when they are asked. */
trait StoredValues {

  /** The distinct values themselves, or a sample of the rows. */
  def distinctValues: Option[ColumnValues]

  /** The most distinct values that there can be, None if that takes more than a look at dictionaries. */
  def mostDistinct: Option[Int] = None

  /** Bytes of all values of the column in its table that are not exceeded, None if nothing proves that. */
  def mostBytes: Option[Double] = None

  /** Most decimal digits of an integral column's values, None if not all files tell. */
  def digits: Option[Int] = None

  /** About how many distinct values there are, from a sample of the files; None if they do not tell. */
  def distinctCount: Option[Double] = None

  /** The mean of some row groups, None if their values cannot be counted. */
  def inRowGroup: Option[RowGroupSample] = None

  /** Reads the distinct values of this and other columns, all at the same time if each read takes long. */
  def readWith(others: Seq[StoredValues]): Unit = ()

  /** Reads samples of this and other columns that will be asked for a [[share]], all at the same time as well. */
  def sampleWith(others: Seq[StoredValues]): Unit = ()

  /**
   * Fraction of the values that are expected from `low` to `high`, by the row groups as a histogram or by sampled rows. None if
   * the files do not tell.
   *
   * @param step
   *   see [[ValueRange.share]]
   */
  def share(low: Double, high: Double, step: Double): Option[Double] = None

  /** Fraction of the table's rows that may have a value from `low` to `high`, however the values are spread. */
  def fractionWithin(low: Double, high: Double): Double
}

/**
 * Values of a column in a row group of its table.
 *
 * @param rows
 *   rows that are not null
 */
final case class RowGroupSample(distinct: Double, rows: Double)

object StoredValues {
  val unknown: StoredValues = bounded(None)

  /** Nothing is known but how long they are together. */
  def bounded(bytes: Option[Double]): StoredValues = new StoredValues {
    override def mostBytes: Option[Double] = bytes
    override def distinctValues: Option[ColumnValues] = None
    override def fractionWithin(low: Double, high: Double): Double = 1.0
  }
}

/** Smallest and largest value of a column as numbers: days for dates, microseconds for timestamps. */
final case class ValueRange(min: Double, max: Double) {
  def width: Double = max - min

  /**
   * Fraction of the values that are from `low` to `high`, if they are spread evenly over the range.
   *
   * @param step
   *   distance of neighbouring values, 0 if another one may be between any two
   */
  def share(low: Double, high: Double, step: Double): Double = {
    val (from, to) = (math.max(min, low), math.min(max, high))
    // A range that is infinite has no parts.
    if (from > to) 0.0
    else if (width + step <= 0 || width.isInfinity) 1.0
    else (to - from + step) / (width + step)
  }
}
