package org.apache.spark.sql.springbok.physical

import java.lang.ref.{ReferenceQueue, WeakReference}
import java.nio.ByteBuffer
import java.util.{Collections, WeakHashMap}
import java.util.concurrent.atomic.AtomicLong

import scala.collection.concurrent.TrieMap
import scala.util.control.NonFatal

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.rpc.{RpcCallContext, RpcEndpointRef, RpcEnv, ThreadSafeRpcEndpoint}
import org.apache.spark.sql.springbok.physical.LateFilterPoll.Poll
import org.apache.spark.util.RpcUtils

/** The driver's side of late filters: it knows those of all plans that are still in use, and answers the tasks. */
private[springbok] object LateFilterServer {
  private[physical] val endpointName = "springbok-late-filters"
  private val counter = new AtomicLong
  private val known = TrieMap.empty[Long, Known]
  private val collected = new ReferenceQueue[LateFilter]
  @volatile private var served: WeakReference[RpcEnv] = new WeakReference(null)

  /**
   * A new filter, known from now on for as long as a plan holds it.
   *
   * @param waitMs
   *   see [[LateFilter]]
   */
  def register(waitMs: Long): LateFilter = {
    serve(SparkEnv.get.rpcEnv)
    val late = new LateFilter(counter.getAndIncrement(), waitMs)
    forgetCollected()
    known.put(late.id, new Known(late))
    late
  }

  private def forgetCollected(): Unit =
    Iterator.continually(collected.poll()).takeWhile(_ != null).foreach {
      case gone: Known => known.remove(gone.id)
      case _ =>
    }

  private[physical] def answer(poll: LateFilterPoll): LateFilter.State =
    known
      .get(poll.filter)
      .flatMap(f => Option(f.get))
      .fold[LateFilter.State](LateFilter.Never)(_.answer(poll))

  private def serve(rpc: RpcEnv): Unit = synchronized {
    if (served.get ne rpc) {
      rpc.setupEndpoint(endpointName, new Endpoint(rpc))
      served = new WeakReference(rpc)
    }
  }

  /** A filter that a plan may hold. */
  final private class Known(late: LateFilter) extends WeakReference(late, collected) {
    val id: Long = late.id
  }

  final private class Endpoint(override val rpcEnv: RpcEnv) extends ThreadSafeRpcEndpoint {
    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case message: Array[Long] =>
        context.reply(LateFilterReply.encode(answer(LateFilterPoll.decode(message))))
    }
  }
}

/** A task's question whether a late filter has arrived. */
sealed private[physical] trait LateFilterPoll {

  /** The filter's number, see [[LateFilter.id]]. */
  def filter: Long

  /** The task's partition. */
  def partition: Int
}

private[physical] object LateFilterPoll {

  /** The task will ask again if the filter is not there. */
  final case class Poll(filter: Long, partition: Int) extends LateFilterPoll

  /** The task will not ask again: without the filter it does not test its rows. */
  final case class FinalPoll(filter: Long, partition: Int) extends LateFilterPoll

  /**
   * Messages are arrays of numbers. An RPC environment knows no classes of jars that come with an application, and a
   * message of an unknown class closes the connection between executor and driver.
   */
  def encode(poll: LateFilterPoll): Array[Long] = {
    val kind = poll match {
      case _: Poll => 0L
      case _: FinalPoll => 1L
    }
    Array(poll.filter, poll.partition.toLong, kind)
  }

  def decode(message: Array[Long]): LateFilterPoll = {
    val (filter, partition) = (message(0), message(1).toInt)
    if (message(2) == 0) Poll(filter, partition) else FinalPoll(filter, partition)
  }
}

/** The driver's answer to a [[LateFilterPoll]] as bytes, for the same reason. */
private[physical] object LateFilterReply {
  private val never = Array[Byte](0)

  def encode(state: LateFilter.State): Array[Byte] = state match {
    case LateFilter.Open => Array.emptyByteArray
    case LateFilter.Never => never
    case arrived: LateFilter.Arrived =>
      val bytes = serializer.serialize(arrived)
      val copy = new Array[Byte](bytes.remaining)
      bytes.get(copy)
      copy
  }

  def decode(bytes: Array[Byte]): LateFilter.State = bytes.length match {
    case 0 => LateFilter.Open
    case 1 => LateFilter.Never
    case _ =>
      serializer.deserialize[LateFilter.Arrived](ByteBuffer.wrap(bytes), getClass.getClassLoader)
  }

  private def serializer = SparkEnv.get.closureSerializer.newInstance()
}

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
