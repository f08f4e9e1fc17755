package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.springbok.catalyst.{RunningSpark, Survivable}

/** The section that EXPLAIN shows: Spark makes this class by its name in `spark.sql.extendedExplainProviders`. */
class SpringbokExplain extends ExtendedExplainGenerator {
  override def title: String = "Springbok"

  override def generateExtendedInfo(plan: SparkPlan): String =
    // On a Spark that this jar was not made for, nothing but this class is loaded.
    if (RunningSpark.refusal() != null) RunningSpark.refusal()
    else
      // Spark catches no LinkageError here.
      try ExplainSection.of(plan)
      catch { case e if Survivable(e) => s"no information: ${e.getClass.getName}" }
}
