package org.apache.spark.sql.springbok

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.springbok.report.{LastReports, ReportJson, Words}
import org.apache.spark.sql.springbok.report.model.QueryReport
import org.apache.spark.sql.springbok.report.page.{ReportPage, ReportSummary}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Table functions, for clients that cannot call the JVM.
 *
 *   - `springbok_reports([n])`: the session's last `n` reports (all by default), the newest first.
 *   - `springbok_page(report[, whole])`: a report, given as JSON, as an HTML page or as a part of one.
 */
private[springbok] object ReportFunctions {
  private val reports = Seq(
    "execution_id" -> LongType,
    "start_ms" -> LongType,
    "duration_ms" -> LongType,
    "query" -> StringType,
    "joins" -> IntegerType,
    "joins_changed" -> IntegerType,
    "filters_used" -> IntegerType,
    "rows_removed" -> LongType,
    "warnings" -> IntegerType,
    "report" -> StringType
  )

  def into(e: SparkSessionExtensions): Unit = {
    inject(
      e,
      "springbok_reports",
      "springbok_reports(n) gives the session's last n reports, and springbok_reports() all that it keeps."
    ) {
      case Nil => lastReports(Int.MaxValue)
      case Seq(n: Int) if n >= 0 => lastReports(n)
    }
    inject(
      e,
      "springbok_page",
      "springbok_page(report) gives a report, which is JSON, as an HTML page, and springbok_page(report, false) as a part of one."
    ) {
      case Seq(Text(json)) => page(json, whole = true)
      case Seq(Text(json), whole: Boolean) => page(json, whole)
    }
  }

  /** A string, or its bytes in UTF-8. */
  private object Text {
    def unapply(value: Any): Option[String] = value match {
      case s: UTF8String => Some(s.toString)
      case b: Array[Byte] => Some(UTF8String.fromBytes(b).toString)
      case _ => None
    }
  }

  private def inject(e: SparkSessionExtensions, name: String, usage: String)(
      make: PartialFunction[Seq[Any], LogicalPlan]
  ): Unit = {
    val builder = (arguments: Seq[Expression]) => {
      val values = arguments.map(a => if (a.foldable) a.eval() else a)
      make.applyOrElse(values, (_: Seq[Any]) => throw wrong(name, usage))
    }
    e.injectTableFunction(
      (FunctionIdentifier(name), new ExpressionInfo(getClass.getName, name, usage), builder)
    )
  }

  /** Spark shows the message of an IllegalArgumentException as it is. */
  private def wrong(name: String, usage: String) = new IllegalArgumentException(s"$name: $usage")

  private def page(json: String, whole: Boolean): LogicalPlan =
    table(Seq("page" -> StringType), Seq(Seq(ReportPage.html(json, whole))))

  private def lastReports(n: Int): LogicalPlan =
    table(reports, LastReports.last(SparkSession.active, n).map(json => row(ReportJson.read(json), json)))

  private def row(r: QueryReport, json: String): Seq[Any] = {
    val (s, run) = (ReportSummary(r), r.execution)
    Seq(
      run.fold(-1L)(_.id),
      run.fold(0L)(_.startMs),
      run.fold(0L)(_.durationMs),
      Words.which(r),
      s.joins,
      s.joinsChanged,
      s.filtersUsed,
      s.rowsRemoved,
      s.warnings,
      json
    )
  }

  private def table(columns: Seq[(String, DataType)], rows: Seq[Seq[Any]]): LogicalPlan = LocalRelation(
    columns.map { case (name, kind) => AttributeReference(name, kind)() },
    rows.map { r =>
      InternalRow.fromSeq(r.map {
        case text: String => UTF8String.fromString(text)
        case other => other
      })
    }
  )
}
