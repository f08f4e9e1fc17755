package org.apache.spark.sql.springbok

import java.util.{Collections, WeakHashMap}

import org.apache.spark.SPARK_VERSION_SHORT
import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.springbok.SpringbokCostEvaluator
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.OwnClasses
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.report.SpringbokExplain

/** Settings of Spark that are changed where the user has not set them. */
private[springbok] object SparkSettings extends Logging {
  private val evaluator =
    SQLConf.ADAPTIVE_CUSTOM_COST_EVALUATOR_CLASS.key -> classOf[SpringbokCostEvaluator].getName

  /** From Spark 4.0 on. */
  private val providers = "spark.sql.extendedExplainProviders"
  private val provider = classOf[SpringbokExplain].getName

  private val settings = Seq(
    // Which stages adaptive execution makes first depends on which build side finishes first: with their numbers in
    // the names of generated classes, the same code would be compiled anew at each run of a query.
    SQLConf.WHOLESTAGE_CODEGEN_USE_ID_IN_CLASS_NAME.key -> "false"
  )

  /** Sessions with a planning thread that cannot load classes by name. Their queries would fail with one. */
  private val without = Collections.newSetFromMap(new WeakHashMap[SparkSession, java.lang.Boolean]())

  /** By the thread that plans, at each planning anew: `RESET` takes them away. */
  def set(session: SparkSession): Unit = synchronized {
    val conf = session.sessionState.conf
    if (!OwnClasses.makeVisible() && without.add(session))
      logWarning(
        "A thread's class loader does not know Springbok: this session goes without its cost evaluator and its section in EXPLAIN."
      )
    val byName = !without.contains(session)
    setDefaults(conf, if (byName) evaluator +: settings else settings)
    val (key, name) = evaluator
    if (!byName && conf.getConfString(key, "") == name) conf.unsetConf(key)
    if (SPARK_VERSION_SHORT >= "4") provide(conf, byName && SpringbokConf.plans(conf))
  }

  /**
   * The provider cannot be a setting of the cluster: Spark fails each query whose session has a provider and not its jar. An empty
   * list is the user's way to have no section.
   */
  private def provide(conf: SQLConf, wanted: Boolean): Unit = listed(conf) match {
    case None if wanted => setProviders(conf, Seq(provider))
    case Some(all) if wanted && all.nonEmpty && !all.contains(provider) => setProviders(conf, all :+ provider)
    case Some(all) if !wanted && all.contains(provider) => setProviders(conf, all.filterNot(_ == provider))
    case _ =>
  }

  private def listed(conf: SQLConf): Option[Seq[String]] =
    Option.when(conf.contains(providers))(
      conf.getConfString(providers).split(",").map(_.trim).filter(_.nonEmpty).toSeq
    )

  private def setProviders(conf: SQLConf, all: Seq[String]): Unit =
    if (all.isEmpty) conf.unsetConf(providers) else conf.setConfString(providers, all.mkString(","))

  private def setDefaults(conf: SQLConf, settings: Seq[(String, String)]): Unit =
    for ((key, value) <- settings if !conf.contains(key)) conf.setConfString(key, value)
}
