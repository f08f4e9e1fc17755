package org.apache.spark.sql.springbok.physical

import java.lang.ref.{ReferenceQueue, WeakReference}
import java.util.concurrent.atomic.AtomicLong

import scala.collection.concurrent.TrieMap

import org.apache.spark.SparkEnv
import org.apache.spark.rpc.{RpcCallContext, RpcEnv, ThreadSafeRpcEndpoint}

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
