package org.apache.spark.sql.springbok.record

import java.util.concurrent.{
  CompletableFuture,
  ScheduledFuture,
  ScheduledThreadPoolExecutor,
  ThreadFactory,
  TimeUnit
}

import scala.concurrent.{Future, Promise}
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.scheduler.TaskSchedulerImpl
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.adaptive.ExchangeQueryStageExec
import org.apache.spark.sql.springbok.catalyst.{CurrentExecution, SparkThreads}

/**
 * The wait of scans for the stage of a join's build side. Adaptive execution waits for `ended`, and not a second time for the
 * stage itself: a failure of the stage would be reported twice, as another error than Spark's.
 *
 * Usually the stage finishes, the query is planned anew, and the scans get their filters from the finished stage. The wait ends
 *
 *   - soon after the stage, where adaptive execution goes on with the plan that it had, or where the stage had finished for
 *     another part of the query, so that nothing else would make adaptive execution look again;
 *   - once cores that the scans could use have been idle for longer than their filters are expected to save;
 *   - after `spark.sql.broadcastTimeout`, for which Spark itself waits for a build side, and where nothing runs at all.
 */
final class StageWait {
  import StageWait._

  private val promise = Promise[Broadcast[Any]]()
  @volatile private var mostIdleMs = 0.0
  private var ticks = Option.empty[ScheduledFuture[_]]
  @volatile private var found = Option.empty[Finished]

  /** What adaptive execution waits for, and may cancel; it has no value. */
  val cancellable: CompletableFuture[Broadcast[Any]] = new CompletableFuture
  cancellable.whenComplete((_, e) => if (e == null) promise.success(null) else promise.failure(e)): Unit

  /** The same as Scala's. */
  def ended: Future[Broadcast[Any]] = promise.future

  /** The finished stage, if it was seen. */
  def stage: Option[ExchangeQueryStageExec] = found.map(_.stage)

  /** Whether it has ended before the stage. */
  def isOver: Boolean = cancellable.isDone && found.isEmpty

  /** So much time of all cores, in ms, may be lost while a filter's scan waits. */
  def mayLose(idleMs: Double): Unit = synchronized { mostIdleMs = math.max(mostIdleMs, idleMs) }

  /** The stage has finished. */
  def finished(by: ExchangeQueryStageExec): Unit =
    if (found.isEmpty) found = Some(Finished(by, System.nanoTime))

  /**
   * Adaptive execution starts to wait.
   *
   * @param timeout
   *   the longest wait, in seconds
   * @param look
   *   looks for the finished stage
   */
  def begin(context: SparkContext, timeout: Long)(look: () => Option[ExchangeQueryStageExec]): Unit =
    synchronized {
      if (ticks.isEmpty && !cancellable.isDone)
        look().orElse(stage) match {
          case Some(s) =>
            finished(s)
            cancellable.complete(null): Unit
          case None =>
            val clock = new Clock(context, timeout)
            val execution = CurrentExecution.id(context)
            def hasEnded = execution.exists(SQLExecution.getQueryExecution(_) == null)
            def tick(): Unit = {
              if (found.isEmpty) look().foreach(finished)
              val over = found.fold(clock.isOver(mostIdleMs))(f => since(f.at) > graceMs)
              if (over || hasEnded || context.isStopped) cancellable.complete(null): Unit
              if (cancellable.isDone) stop()
            }
            def safely(): Unit =
              try tick()
              catch { case NonFatal(_) => cancellable.complete(null): Unit }
            ticks = Some(timer.scheduleWithFixedDelay(() => safely(), tickMs, tickMs, TimeUnit.MILLISECONDS))
        }
    }

  private def stop(): Unit = synchronized(ticks.foreach(_.cancel(false): Unit))
}

object StageWait {
  final private case class Finished(stage: ExchangeQueryStageExec, at: Long)

  private val tickMs = 50L

  /** Time in ms in which scans should have got their filters from a finished stage. */
  private val graceMs = 500L

  /** Time in ms after which a build side should run, if no other task does. */
  private val mostQuietMs = 10000L

  private lazy val timer = {
    val threads: ThreadFactory = run => {
      val thread = SparkThreads.bare(run, "springbok-stage-waits")
      thread.setDaemon(true)
      thread
    }
    val timer = new ScheduledThreadPoolExecutor(1, threads)
    timer.setRemoveOnCancelPolicy(true)
    timer
  }

  private def since(ns: Long): Long = (System.nanoTime - ns) / 1000000

  /** What is lost by a wait, in steps of `tickMs`. */
  final private class Clock(context: SparkContext, timeout: Long) {
    private val began = System.nanoTime
    private var idleMs = 0.0
    private var quietMs = 0L

    def isOver(mostIdleMs: Double): Boolean = {
      val cores = context.statusStore.executorList(activeOnly = true).map(_.totalCores).sum
      val busy = tasks * context.conf.getInt("spark.task.cpus", 1)
      // Without any task it is the driver that is busy, and without any core nobody could work.
      if (cores > 0 && busy > 0) idleMs += tickMs * math.max(0.0, 1 - busy.toDouble / cores)
      quietMs = if (cores > 0 && busy == 0) quietMs + tickMs else 0
      idleMs > mostIdleMs || quietMs > mostQuietMs || timeout > 0 && since(began) / 1000 > timeout
    }

    // The status store learns of tasks late, as long as no other event comes.
    private def tasks: Int = context.taskScheduler match {
      case s: TaskSchedulerImpl => s.runningTasksByExecutors.values.sum
      case _ => 0
    }
  }
}
