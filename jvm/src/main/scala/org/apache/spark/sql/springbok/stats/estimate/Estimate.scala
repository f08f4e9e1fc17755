package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap, ExprId, UnsafeRow}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/** Where a number comes from, best first. */
sealed abstract class Source(val name: String)
object Source {
  case object Runtime extends Source("runtime")
  case object Analyzed extends Source("analyzed")
  case object Footer extends Source("footer")
  case object Estimated extends Source("estimated")
}

/**
 * A number of rows with its source.
 *
 * @param value
 *   expected rows
 * @param bound
 *   rows that are not exceeded unless the statistics are wrong: conjuncts whose selectivity is only guessed do not
 *   reduce it. What may be held in memory is decided by it.
 * @param most
 *   rows of which there are no more however the values are spread over a column's range: one date of 1970 makes the last
 *   month look like nothing, and may be all there is
 */
final case class Rows(value: Double, bound: Double, source: Source, most: Double) {
  def scale(by: Double): Rows =
    Rows(value * by, bound * by, Source.Estimated, most * by)

  /** Those of both. */
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

/**
 * What is known of a column in the table that it comes from.
 *
 * @param ndv
 *   number of distinct values in the unfiltered table
 * @param tight
 *   whether `ndv` is counted or bounded by the column's range, not merely by the table's rows
 * @param min,
 *   max smallest and largest value as numbers (days for dates, microseconds for timestamps)
 * @param tableRows
 *   rows of the unfiltered table, which no combination of its columns has more values than
 * @param bytes
 *   average bytes of a value of variable length, None if unknown
 * @param distinct
 *   most distinct values that are left here, after all filters and joins below
 * @param nulls
 *   part of the table's rows where the column is null, None if unknown
 * @param unique
 *   whether no value seems to be there twice: counted, or the whole numbers of its range are about as many as the rows
 * @param proven
 *   whether that is beyond doubt: what a foreign key in a table of any size does not look like by chance
 * @param values
 *   the distinct values themselves, where they are few
 * @param within
 *   part of the table's rows that may have a value from the first number to the second, however values are spread
 * @param table
 *   what the columns of one table in the query have in common, None for those of several
 */
final case class ColumnStats(
    ndv: Option[Double],
    tight: Boolean,
    min: Option[Double],
    max: Option[Double],
    tableRows: Double,
    bytes: Option[Double],
    distinct: Double,
    nulls: Option[Double] = None,
    unique: Boolean = false,
    proven: Boolean = false,
    values: LazyValues = LazyValues.unknown,
    within: (Double, Double) => Double = ColumnStats.anywhere,
    table: Option[ExprId] = None
)

object ColumnStats {

  /** Nothing is known of where values are. */
  val anywhere: (Double, Double) => Double = (_, _) => 1.0

  /**
   * A column of a union's output, from its children's: their values are the same ones, as key columns of one domain are
   * united most often, unless the range of all of them has room for more.
   */
  def united(children: Seq[ColumnStats]): ColumnStats = {
    def all(f: ColumnStats => Option[Double]) =
      Option.when(children.forall(f(_).isDefined))(children.flatMap(f(_)))
    val rows = children.map(_.tableRows).sum
    val (min, max) = (all(_.min).map(_.min), all(_.max).map(_.max))
    val room = for (a <- min; b <- max) yield b - a + 1
    ColumnStats(
      all(_.ndv).map(each => math.max(each.max, room.fold(0.0)(math.min(_, each.sum)))),
      children.forall(_.tight),
      min,
      max,
      rows,
      all(_.bytes).map(_.max),
      children.map(_.distinct).sum,
      Option.when(children.forall(_.nulls.isDefined))(
        children.map(c => c.nulls.get * c.tableRows).sum / math.max(1.0, rows)
      )
    )
  }
}

/**
 * What is known of a plan's output.
 *
 * @param rows
 *   None: unknown, which is never 0 nor infinite
 * @param rowBytes
 *   bytes of one row in memory, as an `UnsafeRow`
 */
final case class Estimate(rows: Option[Rows], rowBytes: Double, columns: AttributeMap[ColumnStats]) {

  /** With other rows: no column has more values left than there are rows. */
  def withRows(r: Option[Rows]): Estimate = copy(rows = r).narrowed

  def narrowed: Estimate = rows.fold(this) { r =>
    if (columns.values.forall(_.distinct <= r.value)) this
    else
      copy(columns = AttributeMap(columns.toSeq.map { case (a, c) =>
        a -> c.copy(distinct = math.min(c.distinct, r.value))
      }))
  }

  /** Expected bytes in memory. */
  def bytes: Option[Double] = rows.map(_.value * rowBytes)

  /** Bytes in memory that are not exceeded unless the statistics are wrong. */
  def boundBytes: Option[Double] = rows.map(_.bound * rowBytes)

  /** Bytes in memory that are not exceeded however values are spread. */
  def mostBytes: Option[Double] = rows.map(_.most * rowBytes)

  def ndv(a: Attribute): Option[Double] = columns.get(a).flatMap(_.ndv)

  /** Groups of a column; of one whose values are all known one for each, and one for null. */
  def groups(a: Attribute): Option[Double] =
    columns.get(a).flatMap(c => c.ndv.orElse(c.values.get.flatMap(_.atMost).map(_ + 1.0)))
}

object Estimate {

  /** A size in bytes that Spark has of a plan or of files, if it is no stand-in for an unknown one. */
  def known(bytes: BigInt): Option[Double] =
    Option.when(bytes != SQLConf.get.defaultSizeInBytes && bytes < Long.MaxValue)(bytes.toDouble)

  /** A value in Catalyst's representation as a number, None if it is none. */
  def number(v: Any): Option[Double] = v match {
    case d: Decimal => Some(d.toDouble)
    case n: Number => Some(n.doubleValue)
    case _ => None
  }

  /**
   * Bytes of a row of these columns as an `UnsafeRow`: null bits, 8 a field, variable parts rounded up to words. A
   * variable part is never taken for shorter than the type's default: dictionaries make long values look short. Of arrays,
   * maps and structs that default is one element.
   */
  def rowBytes(output: Seq[Attribute], columns: AttributeMap[ColumnStats] = AttributeMap.empty): Double = {
    def bytes(a: Attribute): Double = a.dataType match {
      // Most columns; the general question takes longer than all else here.
      case IntegerType | LongType | DateType | DoubleType => 8.0
      case t if UnsafeRow.isFixedLength(t) => 8.0
      case t =>
        val known = columns.get(a).flatMap(_.bytes)
        val size = math.max(t.defaultSize.toDouble, known.getOrElse(if (nested(t)) nestedBytes else 0.0))
        8.0 + math.ceil(size / 8.0) * 8
    }
    output.foldLeft(math.ceil(output.size / 64.0) * 8)((sum, a) => sum + bytes(a))
  }

  /** Bytes that a nested value is taken for of which nothing is known. */
  private val nestedBytes = 1024.0

  private def nested(t: DataType): Boolean = t match {
    case _: ArrayType | _: MapType | _: VariantType => true
    case s: StructType => s.exists(f => nested(f.dataType))
    case _ => false
  }

  def unknown(output: Seq[Attribute]): Estimate = Estimate(None, rowBytes(output), AttributeMap.empty)
}
