package org.apache.spark.sql.springbok;

import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.sql.springbok.catalyst.RunningSpark;
import org.apache.spark.sql.springbok.report.ui.HistoryTab;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.ui.SparkUI;
import scala.collection.immutable.List;
import scala.collection.immutable.List$;

/**
 * Adds the tab "Springbok" to the History Server, which finds this class by its service file. On a Spark that this jar was
 * not made for it does nothing.
 *
 * <p>It is written in Java for the same reason as {@code SpringbokExtensions}.
 */
public class SpringbokHistoryPlugin implements AppHistoryServerPlugin, HistoryListeners {

  @Override
  @SuppressWarnings("unchecked")
  public List<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store) {
    return RunningSpark.refusal() == null
        ? HistoryTab.listeners(conf, store)
        : (List<SparkListener>) (Object) List$.MODULE$.empty();
  }

  @Override
  public void setupUI(SparkUI ui) {
    if (RunningSpark.refusal() == null) HistoryTab.addTo(ui);
  }
}

/** The method as Scala 2.12 knows it. Scala 2.13 expects an immutable sequence. Java makes a bridge for either. */
interface HistoryListeners {
  scala.collection.Seq<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store);
}
