package org.apache.spark.sql.springbok.report.ui

import org.apache.spark.ui.{SparkUI, SparkUITab}
import org.apache.spark.util.kvstore.KVStore

/** The tab "Springbok" of Spark's UI and of the History Server: a list of queries, and a page for each. */
final private[springbok] class SpringbokTab(val store: KVStore, parent: SparkUI)
    extends SparkUITab(parent, SpringbokTab.path) {
  override val name: String = "Springbok"

  attachPage(new QueriesPage(this))
  attachPage(new QueryPage(this))
  parent.attachTab(this)
}

private[springbok] object SpringbokTab {
  val path = "springbok"
}
