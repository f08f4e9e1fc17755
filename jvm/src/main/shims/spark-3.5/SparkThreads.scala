package org.apache.spark.sql.springbok.catalyst

/** Threads, where versions of Java differ. */
object SparkThreads {

  /** A thread. Java 8 knows none that inherits no thread-local values. */
  def bare(run: Runnable, name: String): Thread = new Thread(null, run, name, 0)
}
