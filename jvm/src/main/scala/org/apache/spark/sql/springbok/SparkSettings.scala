package org.apache.spark.sql.springbok

import org.apache.spark.sql.execution.springbok.EdgeBlindCostEvaluator
import org.apache.spark.sql.internal.SQLConf

/** Settings of Spark that are changed where the user has not set them. */
private[springbok] object SparkSettings {
  private val settings = Seq(
    SQLConf.ADAPTIVE_CUSTOM_COST_EVALUATOR_CLASS.key -> classOf[EdgeBlindCostEvaluator].getName,
    // Which stages adaptive execution makes first depends on which build side finishes first: with their numbers in
    // the names of generated classes, the same code would be compiled anew at each run of a query.
    SQLConf.WHOLESTAGE_CODEGEN_USE_ID_IN_CLASS_NAME.key -> "false"
  )

  /** At each planning anew: `RESET` takes them away. */
  def set(conf: SQLConf): Unit =
    for ((key, value) <- settings if !conf.contains(key)) conf.setConfString(key, value)
}
