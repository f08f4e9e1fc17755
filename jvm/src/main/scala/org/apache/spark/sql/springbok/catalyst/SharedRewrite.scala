package org.apache.spark.sql.springbok.catalyst

import java.util.IdentityHashMap

import org.apache.spark.sql.execution.SparkPlan

/**
 * Rewrites plans in which nodes stand in several places, as the build sides of edges do: they stay the same ones.
 *
 * @param rewrite
 *   makes a node anew; its second argument is this, for the children
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
