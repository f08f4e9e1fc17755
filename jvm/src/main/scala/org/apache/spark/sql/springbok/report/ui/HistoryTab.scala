package org.apache.spark.sql.springbok.report.ui

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.SparkListener
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.status.ElementTrackingStore
import org.apache.spark.ui.SparkUI

/** The tab of an application that has ended. */
private[springbok] object HistoryTab {
  def listeners(conf: SparkConf, store: ElementTrackingStore): List[SparkListener] =
    List(new ReportListener(store, conf.get(ReportConf.UI_RETAINED)))

  /** Adds the tab if the application's log had reports. */
  def addTo(ui: SparkUI): Unit =
    if (ui.store.store.count(classOf[StoredReport]) > 0) new SpringbokTab(ui.store.store, ui): Unit
}
