package org.apache.spark.sql.springbok.rules.guard

import java.util.LinkedHashMap
import java.util.Map.Entry

import org.apache.spark.internal.Logging

/**
 * The last run times of the queries of this JVM, by fingerprint: those that Springbok planned beside those of the control group. A
 * query that was slower than its control group stays so until the JVM ends: its runs are no longer planned, so nothing new
 * is learned of it.
 */
private[springbok] object RunTimes extends Logging {

  /** Queries that are remembered. The one that ran longest ago goes. */
  private val most = 1000

  private val all = new LinkedHashMap[String, RunTimes](16, 0.75f, true) {
    override def removeEldestEntry(eldest: Entry[String, RunTimes]): Boolean = size > most
  }

  /** @param control whether Spark planned the run alone */
  def add(fingerprint: String, control: Boolean, ms: Double): Unit = all.synchronized {
    val before = of(fingerprint)
    val times = before.plus(control, ms)
    if (times.slower && !before.slower)
      logWarning(
        s"Query $fingerprint is left to Spark from now on: it was slower than its control group in several runs."
      )
    all.put(fingerprint, times): Unit
  }

  /** Runs of each kind that are compared at least, and that are kept. */
  private val (least, kept) = (5, 20)

  private def quantile(of: Seq[Double], q: Double): Double = of.sorted.apply(((of.size - 1) * q).round.toInt)

  def of(fingerprint: String): RunTimes = all.synchronized(all.getOrDefault(fingerprint, RunTimes()))
}

/** Run times of one query in ms, the latest first. */
final private[guard] case class RunTimes(planned: Seq[Double] = Nil, control: Seq[Double] = Nil) {
  import RunTimes._

  def plus(isControl: Boolean, ms: Double): RunTimes =
    if (isControl) copy(control = (ms +: control).take(kept)) else copy(planned = (ms +: planned).take(kept))

  /**
   * Whether planned runs are slower by more than noise: their faster quarter is slower than the slower quarter of the control
   * group, and their median by a tenth and by 100 ms.
   */
  def slower: Boolean = planned.size >= least && control.size >= least && {
    val by = quantile(planned, 0.5) - quantile(control, 0.5)
    quantile(planned, 0.25) > quantile(control, 0.75) && by > 100 && by > 0.1 * quantile(control, 0.5)
  }
}
