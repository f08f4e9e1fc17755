package org.apache.spark.sql.springbok.catalyst

import java.util.Properties

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession

/** Threads, where versions of Java differ. */
object SparkThreads {

  /** A thread without a session and job properties. Java 8 knows none that inherits no thread-local values. */
  def bare(run: Runnable, name: String): Thread = {
    val alone: Runnable = () => {
      SparkSession.clearActiveSession()
      SparkContext.getActive.foreach(_.setLocalProperties(new Properties))
      run.run()
    }
    new Thread(null, alone, name, 0)
  }
}
