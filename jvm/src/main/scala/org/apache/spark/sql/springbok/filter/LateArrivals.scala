package org.apache.spark.sql.springbok.filter

import java.lang.ref.WeakReference
import java.nio.ByteBuffer
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, ScheduledExecutorService, TimeUnit}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.internal.Logging
import org.apache.spark.rpc.{RpcCallContext, RpcEnv, ThreadSafeRpcEndpoint}
import org.apache.spark.util.{RpcUtils, ThreadUtils}

/** The driver's end: knows the late filters of all plans that are still in use. */
private[filter] object LateFilters {
  private val endpointName = "springbok-late-filters"
  private val counter = new AtomicLong
  private val known = TrieMap.empty[Long, WeakReference[LateFilter]]
  @volatile private var served: WeakReference[RpcEnv] = new WeakReference(null)

  /**
   * @param waitMs
   *   see [[LateFilter]]
   */
  def make(waitMs: Long): LateFilter = {
    serve(SparkEnv.get.rpcEnv)
    val late = new LateFilter(counter.getAndIncrement(), waitMs)
    known.filterInPlace((_, f) => f.get != null)
    known.put(late.id, new WeakReference(late))
    late
  }

  private def serve(rpc: RpcEnv): Unit = synchronized {
    if (served.get ne rpc) {
      rpc.setupEndpoint(endpointName, new Endpoint(rpc))
      served = new WeakReference(rpc)
    }
  }

  type Found = Map[Long, Broadcast[SplitBlockBloom]]

  private def find(ids: Seq[Long]): Found =
    ids.flatMap(id => known.get(id).flatMap(f => Option(f.get)).flatMap(_.shipped).map(id -> _)).toMap

  /** Those of these filters that are there, asked from an executor. */
  def ask(ids: Seq[Long]): Found = {
    val env = SparkEnv.get
    if (env.executorId == SparkContext.DRIVER_IDENTIFIER) find(ids)
    else {
      val found = RpcUtils.makeDriverRef(endpointName, env.conf, env.rpcEnv).askSync[Array[Byte]](ids.toArray)
      serializer.deserialize[Found](ByteBuffer.wrap(found), getClass.getClassLoader)
    }
  }

  private def serializer = SparkEnv.get.closureSerializer.newInstance()

  /**
   * Messages are arrays of numbers: an RPC environment knows no classes of jars that come with an application, and a
   * message of an unknown class closes the connection between executor and driver.
   */
  final private class Endpoint(override val rpcEnv: RpcEnv) extends ThreadSafeRpcEndpoint {
    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case ids: Array[Long] =>
        val found = serializer.serialize(find(ids.toSeq))
        val bytes = new Array[Byte](found.remaining)
        found.get(bytes)
        context.reply(bytes)
    }
  }
}

/**
 * The executor's end: the late filters that its tasks expect, each fetched once. One thread asks the driver for all that
 * are not there, at most every [[firstMs]] and, the longer nothing comes, down to every [[lastMs]].
 */
private[filter] object LateArrivals extends Logging {
  private val firstMs = 20L
  private val lastMs = 500L

  final class Arrival {
    @volatile private[filter] var bloom: SplitBlockBloom = _
    private[filter] val latch = new CountDownLatch(1)
    private[filter] var tasks = 0
  }

  private val arrivals = new ConcurrentHashMap[Long, Arrival]
  private val asking = new AtomicBoolean
  private lazy val asker: ScheduledExecutorService =
    ThreadUtils.newDaemonSingleThreadScheduledExecutor("springbok-late-filters")

  /** For the running task: the filter, from now on expected until the task ends. */
  def expect(id: Long, waitMs: Long): Arrival = {
    val arrival = arrivals.compute(
      id,
      (_, known) => {
        val a = if (known == null) new Arrival else known
        a.tasks += 1
        a
      }
    )
    TaskContext.get().addTaskCompletionListener[Unit](_ => leave(id)): Unit
    if (arrival.bloom == null) {
      if (asking.compareAndSet(false, true)) asker.execute(() => ask(firstMs))
      if (waitMs > 0) arrival.latch.await(waitMs, TimeUnit.MILLISECONDS): Unit
    }
    arrival
  }

  private def leave(id: Long): Unit = arrivals.computeIfPresent(
    id,
    (_, a) => {
      a.tasks -= 1
      if (a.tasks == 0) null else a
    }
  ): Unit

  /** Filters that tasks expect here, whether they have arrived or not. */
  def expected: Int = arrivals.size

  private[filter] def open: Seq[Long] = arrivals.asScala.collect {
    case (id, a) if a.bloom == null => id
  }.toSeq

  private def ask(pauseMs: Long): Unit = {
    try
      for {
        (id, shipped) <- if (open.isEmpty) Nil else LateFilters.ask(open).toSeq
        arrival <- Option(arrivals.get(id))
      } {
        arrival.bloom = shipped.value
        arrival.latch.countDown()
      }
    catch {
      case NonFatal(e) => logDebug("The driver could not be asked for runtime filters.", e)
    }
    if (open.nonEmpty) again(pauseMs)
    else {
      asking.set(false)
      // A task may have come in between.
      if (open.nonEmpty && asking.compareAndSet(false, true)) again(firstMs)
    }
  }

  private def again(pauseMs: Long): Unit = asker.schedule(
    (() => ask(math.min(pauseMs * 3 / 2, lastMs))): Runnable,
    pauseMs,
    TimeUnit.MILLISECONDS
  ): Unit
}
