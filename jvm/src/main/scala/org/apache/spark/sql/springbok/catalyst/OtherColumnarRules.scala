package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.ColumnarRule

/** Other extensions' rules that replace operators, as native engines have. */
private[springbok] object OtherColumnarRules {

  /** Those of the active session, without Springbok's own. */
  def active: Seq[ColumnarRule] = SparkSession.active.sessionState.columnarRules
    .filterNot(_.getClass.getName.startsWith("org.apache.spark.sql.springbok."))
}
