package org.apache.spark.sql.springbok

import java.nio.file.Files

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.springbok.conf.{FilterConf, JoinConf, PlanningConf}

/**
 * The Spark context that suites share, each with a session of its own. Starting a context and compiling its first queries
 * takes seconds.
 */
object TestContext {
  val master = "local[2]"
  private var shared: Option[SparkSession] = None

  // Spark knows its static settings once their object is loaded.
  StaticSQLConf.SPARK_SESSION_EXTENSIONS: Unit

  /** Whether a setting belongs to the context and not to a session. */
  def isStatic(key: String): Boolean = !key.startsWith("spark.sql.") && !key.startsWith("spark.springbok.") ||
    SQLConf.isStaticConfigKey(key)

  /** A new session of the shared context, with these settings. */
  def session(settings: Map[String, String]): SparkSession = {
    val base = shared.filterNot(_.sparkContext.isStopped).getOrElse(make(master, Map.empty))
    shared = Some(base)
    val own = base.newSession().asInstanceOf[SparkSession]
    settings.foreach { case (k, v) => own.conf.set(k, v) }
    SparkSession.setDefaultSession(own)
    SparkSession.setActiveSession(own)
    own
  }

  /** Removes what a suite has left in the shared context: tables of the catalog and cached plans. */
  def leave(session: SparkSession): Unit = {
    session.catalog.clearCache()
    session.sessionState.catalog.listTables("default").filter(_.database.isDefined).foreach { t =>
      session.sessionState.catalog.dropTable(t, ignoreIfNotExists = true, purge = true)
    }
    SparkSession.clearActiveSession()
    SparkSession.clearDefaultSession()
  }

  /** A context with these settings. The shared one, if there is one, ends. */
  def make(master: String, settings: Map[String, String]): SparkSession = {
    shared.foreach(_.stop())
    shared = None
    SparkSession.clearActiveSession()
    SparkSession.clearDefaultSession()
    val builder = SparkSession
      .builder()
      .master(master)
      .config("spark.sql.extensions", classOf[SpringbokExtensions].getName)
      .config("spark.ui.enabled", "false")
      .config("spark.sql.shuffle.partitions", "4")
      // What Spark has by default from version 4.0 on.
      .config("spark.sql.ansi.enabled", "true")
      .config("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
      // Set, so that tests which stop Spark's broadcasts leave Springbok's.
      .config(JoinConf.BROADCAST_BYTES_LIMIT.key, JoinConf.BROADCAST_BYTES_LIMIT.defaultValueString)
      // Tests have little data.
      .config(PlanningConf.BUDGET.key, "0")
      // A slow machine must not change plans.
      .config(FilterConf.MAX_IDLE.key, "600000")
      .config("spark.sql.warehouse.dir", Files.createTempDirectory("warehouse").toString)
    settings.foreach { case (k, v) => builder.config(k, v) }
    val session = builder.getOrCreate().asInstanceOf[SparkSession]
    session.sparkContext.setLogLevel("ERROR")
    session
  }
}

/** Tests that take more than 6 s beside others. `make test` leaves them out, CI runs them. */
object Slow extends org.scalatest.Tag("org.apache.spark.sql.springbok.Slow")

/** One test of each rule and operator: what runs on every Spark line in CI. */
object Smoke extends org.scalatest.Tag("org.apache.spark.sql.springbok.Smoke")
