package org.apache.spark.sql.springbok.catalyst

import java.util.IdentityHashMap

import org.apache.spark.sql.execution.SparkPlan

/**
 * Rewrites plans in which one node stands in several places, such as the build side of a filter. It stays one node.
 *
 * @param rewrite
 *   rewrites one node; its second argument rewrites the children
 */
final private[springbok] class SharedRewrite(rewrite: (SparkPlan, SparkPlan => SparkPlan) => SparkPlan)
    extends (SparkPlan => SparkPlan) {
  private val done = new IdentityHashMap[SparkPlan, SparkPlan]()

  override def apply(p: SparkPlan): SparkPlan = Option(done.get(p)).getOrElse {
    val q = rewrite(p, this)
    done.put(p, q)
    q
  }
}
