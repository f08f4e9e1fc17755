package org.apache.spark.sql.springbok

import java.util.{Collections, WeakHashMap}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.springbok.DependencyBlindCostEvaluator
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.OwnClasses

/** Settings of Spark that are changed where the user has not set them. */
private[springbok] object SparkSettings extends Logging {
  private val evaluator =
    SQLConf.ADAPTIVE_CUSTOM_COST_EVALUATOR_CLASS.key -> classOf[DependencyBlindCostEvaluator].getName

  private val settings = Seq(
    // Which stages adaptive execution makes first depends on which build side finishes first: with their numbers in
    // the names of generated classes, the same code would be compiled anew at each run of a query.
    SQLConf.WHOLESTAGE_CODEGEN_USE_ID_IN_CLASS_NAME.key -> "false"
  )

  /** Sessions with a planning thread that cannot load the cost evaluator. Their queries would fail with it. */
  private val without = Collections.newSetFromMap(new WeakHashMap[SparkSession, java.lang.Boolean]())

  /** By the thread that plans, at each planning anew: `RESET` takes them away. */
  def set(session: SparkSession): Unit = synchronized {
    val conf = session.sessionState.conf
    if (!OwnClasses.makeVisible() && without.add(session))
      logWarning(
        "A thread's class loader does not know Springbok: this session goes without its cost evaluator."
      )
    if (!without.contains(session)) setDefaults(conf, evaluator +: settings)
    else {
      setDefaults(conf, settings)
      val (key, name) = evaluator
      if (conf.getConfString(key, "") == name) conf.unsetConf(key)
    }
  }

  private def setDefaults(conf: SQLConf, settings: Seq[(String, String)]): Unit =
    for ((key, value) <- settings if !conf.contains(key)) conf.setConfString(key, value)
}
