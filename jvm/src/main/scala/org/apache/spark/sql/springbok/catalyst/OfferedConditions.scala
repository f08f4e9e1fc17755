package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * The query's conditions that Spark was about to push to the scan of a connector's relation. The ones that the connector
 * evaluates completely are gone from the plan afterwards.
 */
private[springbok] object OfferedConditions {
  private val tag = TreeNodeTag[Seq[Expression]]("springbok.offered")

  def remember(r: DataSourceV2Relation, conditions: Seq[Expression]): Unit = r.setTagValue(tag, conditions)

  /** None if nothing was remembered. */
  def of(r: DataSourceV2Relation): Option[Seq[Expression]] = r.getTagValue(tag)
}
