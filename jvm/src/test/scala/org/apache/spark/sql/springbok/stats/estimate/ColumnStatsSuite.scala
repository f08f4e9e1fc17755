package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap, AttributeReference}
import org.apache.spark.sql.springbok.stats.source.{RowGroup, TableFooters}
import org.apache.spark.sql.types.{DataType, DoubleType, LongType, StringType}
import org.scalatest.funsuite.AnyFunSuite

/** What follows from what a source reports of columns. */
class ColumnStatsSuite extends AnyFunSuite {
  private def column(
      rows: Double,
      range: Option[ValueRange] = None,
      counted: Option[Double] = None,
      nulls: Option[Double] = Some(0.0),
      exact: Boolean = true,
      t: DataType = LongType,
      dense: Boolean = true
  ): ColumnStats =
    ColumnFacts(range, counted, nulls, valueBytes = None, dense)
      .stats(t, ColumnStats.Table(rows, id = None), exact, StoredValues.unknown)

  test("distinct values: counted, by the range of integers, by the rows, unknown") {
    assert(column(1000, counted = Some(7)).distinct.contains(Distinct.Counted(7)))
    assert(column(1000, Some(ValueRange(1, 50))).distinct.contains(Distinct.Estimated(50, 50)))
    val wide = column(1000, Some(ValueRange(1, 5000)))
    assert(wide.ndv.contains(1000.0) && !wide.tight && wide.remaining == 1000)
    val fraction = column(1000, Some(ValueRange(0, 1)), t = DoubleType)
    assert(fraction.distinct.isEmpty && fraction.remaining == 1000)
  }

  test(
    "distinct values of a sample of the files, read when they are asked for, and only where the range says little"
  ) {
    var asked = 0
    val sample: StoredValues = new StoredValues {
      override def distinctValues: Option[ColumnValues] = None
      override def distinctCount: Option[Double] = {
        asked += 1
        Some(40.0)
      }
      override def fractionWithin(low: Double, high: Double): Double = 1.0
    }
    def sampled(range: ValueRange) = ColumnFacts(Some(range), None, Some(0.0), None, dense = true)
      .stats(LongType, ColumnStats.Table(1000, id = None), exact = true, sample)
    val wide = sampled(ValueRange(1, 1e9))
    val both = ColumnStats.united(Seq(wide, wide))
    assert(wide.distinct.map(_.known).contains(1000.0) && wide.remaining == 1000 && asked == 0)
    assert(wide.ndv.contains(40.0) && wide.tight && wide.distinct.map(_.known).contains(40.0) && asked == 1)
    assert(both.ndv.contains(80.0) && both.tight)
    assert(sampled(ValueRange(1, 50)).ndv.contains(50.0))
    assert(sampled(ValueRange(1, 1000)).uniqueness == Uniqueness.Proven && asked == 1)
  }

  test("uniqueness: proven by a range with one number for each row, believed of about as many") {
    val all = Some(ValueRange(1, 1000))
    assert(column(1000, all).uniqueness == Uniqueness.Proven)
    assert(column(1000, all, exact = false).uniqueness == Uniqueness.Believed)
    assert(column(1000, all, nulls = None).uniqueness == Uniqueness.Believed)
    assert(column(1000, all, dense = false).uniqueness == Uniqueness.Believed)
    assert(column(1000, counted = Some(970)).uniqueness == Uniqueness.Believed)
    assert(column(1000, Some(ValueRange(1, 900))).uniqueness == Uniqueness.Unknown)
    assert(Uniqueness.Proven.min(Uniqueness.Believed) == Uniqueness.Believed)
    assert(Uniqueness.Unknown.max(Uniqueness.Believed) == Uniqueness.Believed)
  }

  // Of a table of comments, the first of each thread: those without an earlier one begin their own.
  test("a range with one number for each row proves nothing where row groups refer to one another") {
    def group(rows: Long, min: Double, max: Double, nulls: Long = 0) =
      RowGroup(rows, Map("c" -> ValueRange(min, max)), Map.empty, Map("c" -> nulls))
    def dense(groups: RowGroup*) = TableFooters(groups.map(_.rows).sum.toDouble, 1, 1, groups).dense("c")
    assert(dense(group(100, 1, 100), group(0, 0, 0), group(50, 101, 150)))
    assert(!dense(group(100, 1, 100), group(50, 7, 150)))
    assert(!dense(group(100, 1, 100), group(50, 101, 150, nulls = 1)))
    assert(!dense(group(100, 1, 100), RowGroup(50, Map.empty, Map.empty)))
    assert(!TableFooters(150, 2, 1, Seq(group(100, 1, 100))).dense("c"))
  }

  test("a union's columns have the values of one domain, unless their range has room for more") {
    val same = Seq.fill(2)(column(1000, Some(ValueRange(1, 50))))
    assert(ColumnStats.united(same).distinct.contains(Distinct.Estimated(50, 50)))
    val apart =
      Seq(column(1000, Some(ValueRange(1, 50))), column(3000, Some(ValueRange(51, 70)), nulls = Some(0.5)))
    // Texts have no range. Each month may have other ones.
    val months = Seq.fill(12)(column(1000, counted = Some(900), t = StringType))
    assert(ColumnStats.united(months).distinct.map(d => (d.value, d.atMost)).contains((900.0, 10800.0)))
    val united = ColumnStats.united(apart)
    assert(united.ndv.contains(70.0) && united.table == ColumnStats.Table(4000, None))
    assert(united.nullFraction.contains(0.375) && united.uniqueness == Uniqueness.Unknown)
  }

  test("the domain of a key and of what refers to it") {
    def side(rows: Double, c: ColumnStats): (Attribute, Estimate) = {
      val a = AttributeReference("k", LongType)()
      a -> Estimate(Some(Rows(rows, rows, Source.Footer)), 16, AttributeMap(Seq(a -> c)))
    }
    def domain(l: (Attribute, Estimate), r: (Attribute, Estimate)): Double =
      KeyDomain.of(Seq(l._1), Seq(r._1), l._2, r._2)
    val dimension = side(100, column(1000, Some(ValueRange(1, 1000))))
    val facts = side(50000, column(50000, Some(ValueRange(1, 400))))
    assert(domain(facts, dimension) == 400 && domain(dimension, facts) == 400)
    assert(domain(facts, facts) == 400)
    // Counted by their tables' rows alone.
    val loose = (rows: Double) => side(rows, column(rows, Some(ValueRange(1, 1e9))))
    assert(domain(loose(300), loose(5000)) == 300)
    val unknown = side(20, column(20)).copy(_2 = Estimate.unknown(Nil))
    assert(domain(unknown, facts) == 400 && domain(unknown, unknown) == 1)
  }

  test("the part of a range, of whole numbers and of others, and of row groups if all of them are known") {
    val tens = ValueRange(1, 10)
    assert(tens.share(2, 4, 1) == 0.3 && tens.share(Double.NegativeInfinity, 5, 1) == 0.5)
    assert(tens.share(1, 10, 0) == 1 && tens.share(11, 20, 1) == 0 && tens.share(5, 4, 1) == 0)
    assert(ValueRange(7, 7).share(7, 9, 0) == 1 && ValueRange(7, 7).share(8, 9, 0) == 0)
    assert(ValueRange(0, Double.PositiveInfinity).share(5, Double.PositiveInfinity, 0) == 1)
    val groups = Seq(
      RowGroup(300, Map("k" -> tens), Map.empty),
      RowGroup(200, Map("k" -> ValueRange(1, 1000)), Map.empty, Map("k" -> 100L)),
      RowGroup(50, Map.empty, Map.empty, Map("k" -> 50L))
    )
    val table = TableFooters(rows = 550, files = 1, filesRead = 1, groups)
    assert(table.share("k", 1, 10, 1).contains((300 + 1) / 400.0))
    // A file that was not read may have other values, unless those that were have about the same.
    val other = RowGroup(100, Map("k" -> ValueRange(11, 20)), Map.empty)
    val apart = table.copy(groups = Seq(groups.head, other))
    assert(apart.share("k", 1, 10, 1).contains(0.75) && apart.copy(files = 2).share("k", 1, 10, 1).isEmpty)
    assert(table.copy(groups = groups.take(1), files = 2).share("k", 2, 4, 1).contains(0.3))
    assert(table.copy(groups = groups :+ RowGroup(1, Map.empty, Map.empty)).share("k", 1, 10, 1).isEmpty)
  }
}
