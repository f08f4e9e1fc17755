package org.apache.spark.sql.springbok.physical

import java.lang.ref.WeakReference
import java.util.concurrent.atomic.AtomicLong

import scala.collection.concurrent.TrieMap

import org.apache.spark.SparkEnv
import org.apache.spark.rpc.{RpcCallContext, RpcEnv, ThreadSafeRpcEndpoint}

/** The driver's side of late filters: it knows those of all plans that are still in use, and answers the tasks. */
private[springbok] object LateFilterServer {
  private[physical] val endpointName = "springbok-late-filters"
  private val counter = new AtomicLong
  private val known = TrieMap.empty[Long, WeakReference[LateFilter]]
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
    known.filterInPlace((_, f) => f.get != null)
    known.put(late.id, new WeakReference(late))
    late
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

  final private class Endpoint(override val rpcEnv: RpcEnv) extends ThreadSafeRpcEndpoint {
    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case message: Array[Long] =>
        context.reply(LateFilterReply.encode(answer(LateFilterPoll.decode(message))))
    }
  }
}
