package org.apache.spark.sql.springbok.physical

import java.util.{Collections, WeakHashMap}

import scala.util.control.NonFatal

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.rpc.RpcEndpointRef
import org.apache.spark.sql.springbok.physical.LateFilterPoll.Poll
import org.apache.spark.util.RpcUtils

/** A task's side of late filters: it asks the driver whether a filter has arrived. */
private[physical] object LateFilterClient extends Logging {

  /** Between two questions; it doubles each time. */
  private val (leastPauseMs, mostPauseMs) = (20L, 160L)

  /** When running tasks asked for their first filter, as `System.nanoTime`. All filters of a task share one waiting time. */
  private val began = Collections.synchronizedMap(new WeakHashMap[TaskContext, java.lang.Long])
  @volatile private var driver: Option[RpcEndpointRef] = None

  /**
   * For a task: the filter if the task has to test its rows, with its keys on this executor, else None. A driver that cannot
   * be asked is no reason to fail: without the filter all rows pass.
   *
   * @param last
   *   what the task asks when it waits no longer
   * @param waitMs
   *   how long in ms the task waits for its filters
   */
  def await(last: LateFilterPoll, waitMs: Long): Option[LateFilter.Arrived] = {
    val task = TaskContext.get()
    val end = waitsUntil(task, waitMs)
    def poll: LateFilterPoll =
      if (waitMs > 0 && System.nanoTime < end) Poll(last.filter, last.partition) else last
    try {
      var (found, pauseMs) = (ask(poll), leastPauseMs)
      // A cancelled task is not always interrupted.
      while (found == LateFilter.Open && !(task != null && task.isInterrupted())) {
        Thread.sleep(math.max(1, math.min(pauseMs, (end - System.nanoTime) / 1000000)))
        pauseMs = math.min(2 * pauseMs, mostPauseMs)
        found = ask(poll)
      }
      found match {
        case arrived: LateFilter.Arrived =>
          arrived.keys.value: Unit
          Some(arrived)
        case _ => None
      }
    } catch {
      case NonFatal(e) =>
        logDebug("The driver could not be asked for a runtime filter.", e)
        None
    }
  }

  /** Until when a task waits for its filters, as `System.nanoTime`. */
  private[physical] def waitsUntil(task: TaskContext, waitMs: Long): Long = {
    val start: Long = if (task == null) System.nanoTime else began.computeIfAbsent(task, _ => System.nanoTime)
    start + waitMs * 1000000
  }

  private def ask(poll: LateFilterPoll): LateFilter.State = {
    val env = SparkEnv.get
    if (env.executorId == SparkContext.DRIVER_IDENTIFIER) LateFilterServer.answer(poll)
    else LateFilterReply.decode(endpoint(env).askSync[Array[Byte]](LateFilterPoll.encode(poll)))
  }

  private def endpoint(env: SparkEnv): RpcEndpointRef = driver.getOrElse {
    val ref = RpcUtils.makeDriverRef(LateFilterServer.endpointName, env.conf, env.rpcEnv)
    driver = Some(ref)
    ref
  }
}
