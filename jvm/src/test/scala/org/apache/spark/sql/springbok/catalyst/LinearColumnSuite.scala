package org.apache.spark.sql.springbok.catalyst

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeSeq,
  BindReferences,
  Expression,
  Literal
}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.catalyst.LinearColumn.Span
import org.apache.spark.sql.types.{DataType, DateType}

/** Expressions that are a column plus or minus a constant, at the edges of their types. */
class LinearColumnSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val casts = Seq("b" -> "TINYINT", "s" -> "SMALLINT", "i" -> "INT", "l" -> "BIGINT")
    val columns = casts.map { case (name, t) => s"CAST(id AS $t) AS $name" }
    table("columns", s"SELECT ${columns.mkString(", ")}, DATE'2020-01-01' AS d, 'x' AS str FROM range(3)")
  }

  private def expression(text: String, ansi: Boolean): Expression =
    conf("spark.sql.ansi.enabled" -> ansi.toString) {
      execution(spark.sql(s"SELECT $text AS x FROM columns")).optimizedPlan.collectFirst {
        case Project(Seq(Alias(e, _)), _) => e
      }.get
    }

  /** Values at the ends of a type, in its middle, and around other types' ends. */
  private def edges(t: DataType): Seq[Long] = {
    val all = LinearColumn.typeSpan(t).get
    val ends = Seq(Byte.MinValue, Short.MinValue, Int.MinValue, Long.MinValue).flatMap { m =>
      Seq(m.toLong, -(m.toLong + 1))
    } :+ 0L
    ends.flatMap(e => (-9L to 9L).map(BigInt(e) + _)).filter(v => v >= all.low && v <= all.high).map(_.toLong)
  }

  private def of(v: Long, column: Attribute): InternalRow = {
    val value: Any = column.dataType.defaultSize match {
      case 1 => v.toByte
      case 2 => v.toShort
      case 4 => v.toInt
      case _ => v
    }
    InternalRow(value)
  }

  private val integral = Seq(
    "b + 1Y",
    "3Y + b",
    "b - 2Y",
    "5Y - b",
    "-b",
    "s + 7S",
    "-1S - s",
    "i + 1",
    "1 + i",
    "i - 1",
    "i + 2147483647",
    "-2147483647 - i",
    "-(i + 3)",
    "(i + 3) - 5",
    "CAST(i + 1 AS BIGINT)",
    "l + 1L",
    "l - 9223372036854775807L",
    "-l",
    "7L - (l - 3L)"
  )
  private val total = Seq("b", "CAST(b AS INT)", "i + 0L", "i + 1L", "9L - s", "-CAST(s AS INT)", "b + 1")
  private val dates =
    Seq("date_add(d, 7)", "date_sub(d, 30)", "date_add(DATE'2020-01-01', i)", "d - 5", "d + 1")

  for (ansi <- Seq(true, false); text <- integral ++ total ++ dates)
    test(s"$text${if (ansi) ", ANSI" else ""}") {
      val e = expression(text, ansi)
      val linear = LinearColumn.of(e).get
      val bound = BindReferences.bindReference(e, AttributeSeq(Seq(linear.column)))
      val values = edges(linear.column.dataType).distinct
      def key(v: Long) = Try(bound.eval(of(v, linear.column)).asInstanceOf[Number].longValue)
      val (inside, outside) = values.partition(linear.domain.contains)
      for (v <- inside) assert(linear.inverse(key(v).get).contains(v), v)
      val keys = values.flatMap(key(_).toOption)
      assert(keys.distinct.size == keys.size)
      for (k <- edges(e.dataType); v <- linear.inverse(k)) assert(key(v).get == k)
      // Nothing more is left out of the domain than needed.
      val exact = ansi && !dates.contains(text)
      assert(!exact || outside.forall(key(_).isFailure))
      assert(linear.total == (total.contains(text) || linear.outside.isEmpty))
      assert(!total.contains(text) || outside.isEmpty && CannotRaise(e))
      assert(!exact || CannotRaise(e) == linear.total)
    }

  test("a cast to a narrower type is one of them in ANSI mode alone, where no two values become one") {
    assert(LinearColumn.of(expression("CAST(l AS INT) + 1", ansi = false)).isEmpty)
    val linear = LinearColumn.of(expression("CAST(l AS INT) + 1", ansi = true)).get
    assert(linear.domain == Span(Int.MinValue, Int.MaxValue - 1L) && linear.outside.size == 2)
    assert(linear.inverse(6).contains(5L) && linear.inverse(Int.MinValue).isEmpty)
  }

  test("other expressions are none") {
    for (
      text <- Seq(
        "i * 2",
        "i + b",
        "try_add(i, 1)",
        "try_cast(l AS INT)",
        "length(str) + 1",
        "l DIV 2",
        "i + 1.5"
      )
    )
      assert(LinearColumn.of(expression(text, ansi = true)).isEmpty, text)
    assert(LinearColumn.of(Literal(1)).isEmpty)
  }

  test("ranges") {
    val minus = LinearColumn.of(expression("100 - i", ansi = true)).get
    assert(minus.inverse(Span(0, 10)).contains(Span(90, 100)))
    assert(minus.inverse(Span(Int.MinValue, Int.MinValue)).isEmpty && minus.domain.high == Int.MaxValue)
    val plus = LinearColumn.of(expression("i + 10", ansi = true)).get
    assert(plus.domain == Span(Int.MinValue, Int.MaxValue - 10L))
    assert(plus.outside == Seq(Span(Int.MaxValue - 9L, Int.MaxValue)))
    assert(plus.inverse(Span(Int.MinValue, 20)).contains(Span(Int.MinValue, 10)))
    assert(plus.inverse(Span(Int.MinValue, Int.MinValue + 9L)).isEmpty)
    val days = LinearColumn.of(expression("date_add(d, 1)", ansi = true)).get
    assert(days.column.dataType == DateType && days.outside.size == 2)
  }
}
