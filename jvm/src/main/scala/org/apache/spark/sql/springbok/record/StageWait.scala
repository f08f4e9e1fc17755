package org.apache.spark.sql.springbok.record

import java.util.concurrent.{CompletableFuture, ScheduledFuture, TimeUnit}

import scala.collection.mutable
import scala.concurrent.{Future, Promise}

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.scheduler.TaskSchedulerImpl
import org.apache.spark.sql.execution.adaptive.ExchangeQueryStageExec
import org.apache.spark.util.ThreadUtils

/**
 * The wait of scans for the stage of a join's build side. Adaptive execution waits for `ended`, and not a second time for the
 * stage itself: a failure of the stage would be reported twice, as another error than Spark's.
 *
 * Usually nobody needs the end: the stage finishes, the query is planned anew, and the scans get their filters from the finished
 * stage. The wait ends of itself
 *
 *   - where adaptive execution goes on with the plan that it had, which still waits;
 *   - once cores that the scans could use have been idle for longer than their filters are expected to save;
 *   - after `spark.sql.broadcastTimeout`, for which Spark itself waits for a build side.
 */
final class StageWait {
  import StageWait._

  private val promise = Promise[Broadcast[Any]]()
  private val filters = mutable.Set.empty[FilterRecord]
  private var mostIdleMs = 0.0
  private var ticks = Option.empty[ScheduledFuture[_]]
  @volatile private var found = Option.empty[Finished]

  /** What adaptive execution waits for, and may cancel; it has no value. */
  val cancellable: CompletableFuture[Broadcast[Any]] = new CompletableFuture
  cancellable.whenComplete((_, e) => if (e == null) promise.success(null) else promise.failure(e)): Unit

  /** The same as Scala's. */
  def ended: Future[Broadcast[Any]] = promise.future

  /** The finished stage, if a planning has seen it. */
  def stage: Option[ExchangeQueryStageExec] = found.map(_.stage)

  /**
   * A filter whose scan waits.
   *
   * @param idleMs
   *   time in ms of all cores that may be lost meanwhile
   */
  def add(filter: FilterRecord, idleMs: Double): Unit = synchronized {
    filters += filter
    mostIdleMs = math.max(mostIdleMs, idleMs)
  }

  /** Whether it has ended before the stage, and not because a planning had seen that the stage had finished. */
  def isOver: Boolean = cancellable.isDone && found.isEmpty

  /** A planning has seen that the stage has finished. */
  def finished(by: ExchangeQueryStageExec): Unit =
    if (found.isEmpty) found = Some(Finished(by, System.nanoTime))

  /** Adaptive execution starts to wait. */
  def begin(context: SparkContext, timeoutMs: Long): Unit = synchronized {
    if (ticks.isEmpty) ticks = Some {
      var idleMs = 0.0
      val began = System.nanoTime
      def isOver = found match {
        case Some(f) => since(f.at) > graceMs
        case None =>
          idleMs += tickMs * idlePart(context)
          idleMs > mostIdleMs || timeoutMs > 0 && since(began) > timeoutMs
      }
      def tick(): Unit =
        if (cancellable.isDone || found.isDefined && !filters.exists(isPlaced) || context.isStopped) stop()
        else if (isOver) {
          cancellable.complete(null): Unit
          stop()
        }
      clock.scheduleWithFixedDelay(() => tick(), tickMs, tickMs, TimeUnit.MILLISECONDS)
    }
  }

  private def stop(): Unit = synchronized(ticks.foreach(_.cancel(false): Unit))
}

object StageWait {
  final private case class Finished(stage: ExchangeQueryStageExec, at: Long)

  private val tickMs = 50L

  /** Time in ms in which scans should have got their filters from a finished stage. */
  private val graceMs = 500L

  private lazy val clock = ThreadUtils.newDaemonSingleThreadScheduledExecutor("springbok-stage-waits")

  private def since(ns: Long): Long = (System.nanoTime - ns) / 1000000

  private def isPlaced(f: FilterRecord): Boolean = f.state.isInstanceOf[FilterState.Placed]

  /** The part of the executors' cores that run no task; 0 if no core does, since then the driver is busy. */
  private def idlePart(context: SparkContext): Double = {
    val cores = context.statusStore.executorList(activeOnly = true).map(_.totalCores).sum
    val busy = tasks(context) * context.conf.getInt("spark.task.cpus", 1)
    if (cores == 0 || busy == 0) 0 else math.max(0.0, 1 - busy.toDouble / cores)
  }

  // The status store learns of tasks late, as long as no other event comes.
  private def tasks(context: SparkContext): Int = context.taskScheduler match {
    case s: TaskSchedulerImpl => s.runningTasksByExecutors.values.sum
    case _ => 0
  }
}
