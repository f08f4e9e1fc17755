package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap, UnsafeRow}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.SparkTypes
import org.apache.spark.sql.types._

/**
 * What is known of a plan's output.
 *
 * @param rows
 *   None if unknown: an unknown number is neither 0 nor infinite
 * @param rowBytes
 *   bytes of one row in memory, as an `UnsafeRow`
 */
final case class Estimate(rows: Option[Rows], rowBytes: Double, columns: AttributeMap[ColumnStats]) {

  /** With other rows: no column has more values left than there are rows. */
  def withRows(r: Option[Rows]): Estimate = copy(rows = r).narrowed

  /** With rows that were counted. If there are more than expected, more values may be left of columns than expected. */
  def counting(r: Rows): Estimate = {
    val before = rows.fold(0.0)(_.value)
    def widened(c: ColumnStats) =
      if (c.remaining < before) c else c.copy(remaining = c.distinct.fold(c.table.rows)(_.atMost))
    val all =
      if (r.value <= before) columns else AttributeMap(columns.toSeq.map { case (a, c) => a -> widened(c) })
    copy(columns = all).withRows(Some(r))
  }

  def narrowed: Estimate = rows.fold(this) { r =>
    if (columns.values.forall(_.remaining <= r.value)) this
    else
      copy(columns = AttributeMap(columns.toSeq.map { case (a, c) =>
        a -> c.copy(remaining = math.min(c.remaining, r.value))
      }))
  }

  /** With at most so many values of a column. */
  def withValues(a: Attribute, most: Int): Estimate =
    if (columns.get(a).exists(_.remaining > most)) leaving(a, most.toDouble) else this

  /** With so many values of a column left, as far as there are rows. */
  def leaving(a: Attribute, values: Double): Estimate = columns.get(a).fold(this) { c =>
    val left = rows.fold(values)(r => math.min(values, r.value))
    copy(columns = AttributeMap(columns.toSeq :+ (a -> c.copy(remaining = left))))
  }

  /** Expected bytes in memory. */
  def bytes: Option[Double] = rows.map(_.value * rowBytes)

  /** Bytes in memory that are not exceeded unless the statistics are wrong. */
  def boundBytes: Option[Double] = rows.map(_.bound * rowBytes)

  /** Bytes in memory that are not exceeded however values are spread, if rows are as long as expected. */
  def mostBytes: Option[Double] = rows.map(_.most * rowBytes)

  /** Bytes of a row of this output that the statistics of its columns do not explain. They are of values of variable length. */
  def unexplainedBytes(output: Seq[Attribute]): Double =
    if (Estimate.varies(output)) math.max(0, rowBytes - Estimate.rowBytes(output, columns)) else 0

  def distinct(a: Attribute): Option[Distinct] = columns.get(a).flatMap(_.distinct)

  def ndv(a: Attribute): Option[Double] = distinct(a).map(_.value)

  /** Groups by a column whose values have been counted. If all of them are known: one for each, and one for null. */
  def counted(a: Attribute): Option[Double] = columns.get(a).flatMap(c => c.ndv.orElse(listed(c)))

  /** Most groups by a column that are expected: conditions and joins may have left few of its values. */
  def groups(a: Attribute): Option[Double] =
    columns.get(a).map(c => math.min(c.remaining, counted(a).getOrElse(c.remaining)))

  /** The same, not exceeded unless the statistics are wrong. */
  def mostGroups(a: Attribute): Option[Double] =
    distinct(a).map(_.atMost + nullGroup(a)).orElse(columns.get(a).flatMap(listed))

  private def nullGroup(a: Attribute): Int =
    if (columns.get(a).flatMap(_.nullFraction).contains(0.0)) 0 else 1

  private def listed(c: ColumnStats): Option[Double] =
    c.stored.mostDistinct.map(_ + 1.0)
}

object Estimate {

  /** A size in bytes that Spark reports of a plan or of files; None if it stands for an unknown size. */
  def known(bytes: BigInt): Option[Double] =
    Option.when(bytes != SQLConf.get.defaultSizeInBytes && bytes < Long.MaxValue)(bytes.toDouble)

  /** A value in Catalyst's representation as a number, None if it is not one. */
  def number(v: Any): Option[Double] = v match {
    case d: Decimal => Some(d.toDouble)
    case n: Number => Some(n.doubleValue)
    case _ => None
  }

  /**
   * Bytes of a row of these columns as an `UnsafeRow`: null bits, 8 bytes for each field, variable parts rounded up to
   * words. A variable part counts at least the type's default size, because dictionaries make long values look short. The
   * default size of arrays, maps and structs is that of one element.
   */
  def rowBytes(output: Seq[Attribute], columns: AttributeMap[ColumnStats] = AttributeMap.empty): Double = {
    def bytes(a: Attribute): Double = a.dataType match {
      case t if isFixed(t) => 8.0
      case t =>
        val known = columns.get(a).flatMap(_.valueBytes)
        val size = math.max(t.defaultSize.toDouble, known.getOrElse(if (nested(t)) nestedBytes else 0.0))
        8.0 + math.ceil(size / 8.0) * 8
    }
    output.foldLeft(math.ceil(output.size / 64.0) * 8)((sum, a) => sum + bytes(a))
  }

  /** Whether a row of these columns has values of variable length. */
  def varies(output: Seq[Attribute]): Boolean = output.exists(a => !isFixed(a.dataType))

  private def isFixed(t: DataType): Boolean = t match {
    // Most columns. The general question would take longer than all else here.
    case IntegerType | LongType | DateType | DoubleType => true
    case StringType => false
    case _ => UnsafeRow.isFixedLength(t)
  }

  /** Assumed bytes of a nested value of unknown size. */
  private val nestedBytes = 1024.0

  private def nested(t: DataType): Boolean = t match {
    case _: ArrayType | _: MapType => true
    case v if SparkTypes.isVariant(v) => true
    case s: StructType => s.exists(f => nested(f.dataType))
    case _ => false
  }

  def unknown(output: Seq[Attribute]): Estimate = Estimate(None, rowBytes(output), AttributeMap.empty)
}

/** Where a number comes from, best first. */
sealed abstract class Source(val name: String)

object Source {
  case object Runtime extends Source("runtime")
  case object Analyzed extends Source("analyzed")

  /** What a table format's log counts in the files that the query reads. */
  case object Log extends Source("log")
  case object Footer extends Source("footer")

  /** What a connector reports, from its snapshots, manifests or whatever it keeps. */
  case object Connector extends Source("connector")

  /** Lines of text, counted in a sample of the files. */
  case object Sample extends Source("sample")
  case object Estimated extends Source("estimated")
}

/**
 * A number of rows with its source.
 *
 * @param value
 *   expected rows
 * @param bound
 *   rows that are not exceeded unless the statistics are wrong: conjuncts whose selectivity is only a guess do not reduce
 *   it. It decides what may be held in memory.
 * @param most
 *   rows that are not exceeded however the values are spread over a column's range. One date of 1970 makes the last month
 *   look like almost nothing, though it may be all there is.
 */
final case class Rows(value: Double, bound: Double, source: Source, most: Double) {
  def scale(by: Double): Rows =
    Rows(value * by, bound * by, Source.Estimated, most * by)

  /** The rows of both. */
  def +(other: Rows): Rows =
    Rows(value + other.value, bound + other.bound, Source.Estimated, most + other.most)

  /** No fewer than the others. */
  def atLeast(other: Rows): Rows = Rows(
    math.max(value, other.value),
    math.max(bound, other.bound),
    Source.Estimated,
    math.max(most, other.most)
  )

  /** At most `n` of them. */
  def atMost(n: Double): Rows =
    Rows(math.min(n, value), math.min(n, bound), Source.Estimated, math.min(n, most))
}

object Rows {
  def apply(value: Double, bound: Double, source: Source): Rows = Rows(value, bound, source, bound)
}
