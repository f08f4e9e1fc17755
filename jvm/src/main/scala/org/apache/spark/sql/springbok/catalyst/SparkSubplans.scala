package org.apache.spark.sql.springbok.catalyst

import scala.util.Try

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.Utils

/** Spark's rule that merges subplans with different filters. Spark has it from 4.2 on, and the preview of 4.3 lacks it. */
private[springbok] object SparkSubplans {
  private lazy val rule: Option[Rule[LogicalPlan]] =
    Try(Utils.classForName[Any]("org.apache.spark.sql.catalyst.optimizer.MergeSubplans$"))
      .map(_.getField("MODULE$").get(null).asInstanceOf[Rule[LogicalPlan]])
      .toOption

  /** Settings that Spark leaves off, because its costs do not decide. */
  private val settings = Seq("symmetricFilterPropagation", "throughJoin").map(s =>
    s"spark.sql.optimizer.mergeSubplans.filterPropagation.$s.enabled"
  )

  /** Whether this Spark has the rule. */
  def exist: Boolean = rule.isDefined

  /** The plan with such subplans merged, as if all settings were on; None if Spark lacks the rule. */
  def merged(plan: LogicalPlan, conf: SQLConf): Option[LogicalPlan] = rule.map { merge =>
    val changed = conf.clone()
    settings.foreach(changed.setConfString(_, "true"))
    SQLConf.withExistingConf(changed)(merge(plan))
  }
}
