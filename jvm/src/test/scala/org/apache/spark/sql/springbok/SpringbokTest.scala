package org.apache.spark.sql.springbok

import java.nio.file.{Files, Path}

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{FileSourceScanExec, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.conf.{FilterConf, JoinConf, SpringbokConf}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{FilterRecord, FilterState, PlanningState}
import org.scalatest.{BeforeAndAfterAll, BeforeAndAfterEach}
import org.scalatest.funsuite.AnyFunSuite

/** A session with Springbok, Parquet tables, and the check that all tests make: on and off give the same rows. */
abstract class SpringbokTest
    extends AnyFunSuite
    with BeforeAndAfterAll
    with BeforeAndAfterEach
    with AdaptiveSparkPlanHelper {
  protected var spark: SparkSession = _
  protected val folder: Path = Files.createTempDirectory("springbok")

  protected def master: String = "local[2]"

  protected val noBroadcast: (String, String) = JoinConf.BROADCAST_BYTES_LIMIT.key -> "0"
  protected val noSparkBroadcast: (String, String) = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

  /** Nothing is broadcast but what is hinted. */
  protected val shuffled: Seq[(String, String)] = Seq(noBroadcast, noSparkBroadcast)

  /** Test tables are small: no filter would be worth waiting for. */
  protected def sessionConf: Map[String, String] = Map(FilterConf.MIN_BENEFIT_MS.key -> "0")

  /** Whether the suite cannot share its Spark context with others. */
  protected def ownContext: Boolean =
    master != TestContext.master || sessionConf.keys.exists(TestContext.isStatic)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark =
      if (ownContext) TestContext.make(master, sessionConf)
      else TestContext.session(sessionConf)
  }

  override protected def afterAll(): Unit = {
    if (ownContext) spark.stop() else TestContext.leave(spark)
    super.afterAll()
  }

  /** Settings for the time of a block. */
  protected def conf[T](pairs: (String, String)*)(body: => T): T = {
    val before = pairs.map { case (k, _) => k -> spark.conf.getOption(k) }
    pairs.foreach { case (k, v) => spark.conf.set(k, v) }
    try body
    finally
      before.foreach {
        case (k, Some(v)) => spark.conf.set(k, v)
        case (k, None) => spark.conf.unset(k)
      }
  }

  /** Writes a query's rows as Parquet, in row groups of about `groupRows` rows, and makes them a view. */
  protected def table(
      name: String,
      sql: String,
      partitionBy: Seq[String] = Nil,
      groupRows: Option[Int] = None
  ): Unit = {
    val path = folder.resolve(name).toString
    val df = spark.sql(sql)
    val writer = groupRows.fold(df.coalesce(1).write) { n =>
      df.coalesce(1)
        .write
        .option("parquet.block.size", "1024")
        .option("parquet.page.size.row.check.min", n.toString)
        .option("parquet.page.size.row.check.max", n.toString)
        .option("parquet.block.row.count.limit", n.toString)
    }
    (if (partitionBy.isEmpty) writer else writer.partitionBy(partitionBy: _*)).parquet(path)
    spark.read.parquet(path).createOrReplaceTempView(name)
  }

  protected def off[T](body: => T): T = conf(SpringbokConf.ENABLED.key -> "false")(body)

  protected def sorted(rows: Array[Row]): Seq[String] = rows.map(show).sorted.toSeq

  private def show(v: Any): String = v match {
    case r: Row => r.toSeq.map(show).mkString("[", ",", "]")
    case b: Array[Byte] => b.map(x => f"$x%02x").mkString
    case other => String.valueOf(other)
  }

  /** Runs the query with Springbok after checking that it answers as without. */
  protected def same(sql: String): DataFrame = {
    val expected = off(sorted(spark.sql(sql).collect()))
    val df = spark.sql(sql)
    assert(sorted(df.collect()) == expected, sql)
    df
  }

  protected def execution(df: DataFrame): QueryExecution =
    df.asInstanceOf[org.apache.spark.sql.classic.DataFrame].queryExecution

  protected def executed(df: DataFrame): SparkPlan = execution(df).executedPlan

  protected def record(df: DataFrame): PlanningState =
    PlanningState.of(execution(df).optimizedPlan).get

  protected def applied(df: DataFrame): Seq[AppliedRuntimeFilterExec] =
    collectWithSubqueries(executed(df)) { case f: AppliedRuntimeFilterExec => f }

  protected def joins(df: DataFrame): Seq[BaseJoinExec] = collectWithSubqueries(executed(df)) {
    case j: BaseJoinExec => j
  }

  protected def scanRows(df: DataFrame, column: String): Long =
    collectWithSubqueries(executed(df)) {
      case s: FileSourceScanExec if s.output.exists(_.name == column) => s.metrics("numOutputRows").value
    }.sum

  /** Reasons of the filters that were declined. */
  protected def declined(df: DataFrame): Seq[String] =
    record(df).filters.all.collect { case f if f.state.isInstanceOf[FilterState.Declined] => f.reason.code }

  /** How the scan was told of each filter that was used, or why it was not. */
  protected def told(df: DataFrame): Seq[Either[Reason, String]] = used(df).flatMap(_.effect.pushed)

  /** The codes of the reasons why scans were told of no filter. */
  protected def notTold(df: DataFrame): Seq[String] = told(df).flatMap(_.left.toOption).map(_.code)

  /** Whether the one reason why a scan was told of no filter is that it must stay as it is, for this reason. */
  protected def isKept(df: DataFrame, because: String): Boolean =
    told(df).flatMap(_.left.toOption) match {
      case Seq(r) => r.code == "SCAN_KEPT" && r.text.contains(because)
      case _ => false
    }

  /** Rows that pass the row tests of filters. */
  protected def passed(df: DataFrame): Long = applied(df).map(_.metrics("numOutputRows").value).sum

  protected def used(df: DataFrame): Seq[FilterRecord] =
    record(df).filters.all.filter(_.state.isInstanceOf[FilterState.Used])
}
