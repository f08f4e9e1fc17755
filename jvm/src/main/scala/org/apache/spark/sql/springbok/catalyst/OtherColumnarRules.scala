package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.ColumnarRule

/** Other extensions' rules that replace operators, as native engines have. */
private[springbok] object OtherColumnarRules {

  /** The setting that switches an engine off in a session, by how the names of its classes begin. It is on by default. */
  private val switches = Map(
    "org.apache.comet." -> "spark.comet.enabled",
    "org.apache.gluten." -> "spark.gluten.enabled",
    "com.nvidia.spark." -> "spark.rapids.sql.enabled"
  )

  /** Those of the active session that may change a plan, without Springbok's own. */
  def active: Seq[ColumnarRule] = {
    val state = SparkSession.active.sessionState
    def isOn(name: String) = switches
      .collectFirst { case (prefix, key) if name.startsWith(prefix) => state.conf.getConfString(key, "true") }
      .forall(!_.trim.equalsIgnoreCase("false"))
    state.columnarRules.filter { r =>
      val name = r.getClass.getName
      !name.startsWith("org.apache.spark.sql.springbok.") && isOn(name)
    }
  }
}
