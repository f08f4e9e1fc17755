package org.apache.spark.sql.springbok.physical

import java.lang.ref.WeakReference
import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicLong

import scala.collection.concurrent.TrieMap
import scala.util.control.NonFatal

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.internal.Logging
import org.apache.spark.rpc.{RpcCallContext, RpcEndpointRef, RpcEnv, ThreadSafeRpcEndpoint}
import org.apache.spark.sql.springbok.keys.SplitBlockBloom
import org.apache.spark.util.RpcUtils

/** The late filters of all plans that are still in use: the driver knows them, and the tasks of executors ask for them. */
private[springbok] object LateFilters extends Logging {
  private val endpointName = "springbok-late-filters"
  private val counter = new AtomicLong
  private val known = TrieMap.empty[Long, WeakReference[LateFilter]]
  @volatile private var served: WeakReference[RpcEnv] = new WeakReference(null)
  @volatile private var driver: Option[RpcEndpointRef] = None

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

  /** For a task, on its first row: the filter if the task is to test its rows, else null. */
  def arrived(id: Long, partition: Int, waitMs: Long): SplitBlockBloom =
    try {
      val end = System.nanoTime + waitMs * 1000000
      var found = ask(id, partition, last = waitMs == 0)
      while (found == LateFilter.Open) {
        Thread.sleep(math.min(20L, waitMs))
        found = ask(id, partition, last = System.nanoTime >= end)
      }
      found match {
        case LateFilter.Arrived(bloom) => bloom.value
        case _ => null
      }
    } catch {
      case NonFatal(e) =>
        logDebug("The driver could not be asked for a runtime filter.", e)
        null
    }

  private def answer(id: Long, partition: Int, last: Boolean): LateFilter.State =
    known
      .get(id)
      .flatMap(f => Option(f.get))
      .fold[LateFilter.State](LateFilter.Never)(_.answer(partition, last))

  /** Those whose plans are in use. */
  def inUse: Seq[LateFilter] = known.values.flatMap(f => Option(f.get)).toSeq

  /**
   * Messages are arrays of numbers: an RPC environment knows no classes of jars that come with an application, and a
   * message of an unknown class closes the connection between executor and driver.
   */
  private def ask(id: Long, partition: Int, last: Boolean): LateFilter.State = {
    val env = SparkEnv.get
    if (env.executorId == SparkContext.DRIVER_IDENTIFIER) answer(id, partition, last)
    else {
      val ref = driver.getOrElse {
        val made = RpcUtils.makeDriverRef(endpointName, env.conf, env.rpcEnv)
        driver = Some(made)
        made
      }
      val reply = ref.askSync[Array[Byte]](Array(id, partition.toLong, if (last) 1L else 0L))
      if (reply.isEmpty) LateFilter.Open
      else if (reply.length == 1) LateFilter.Never
      else
        LateFilter.Arrived(
          serializer.deserialize[Broadcast[SplitBlockBloom]](ByteBuffer.wrap(reply), getClass.getClassLoader)
        )
    }
  }

  private def serializer = SparkEnv.get.closureSerializer.newInstance()

  final private class Endpoint(override val rpcEnv: RpcEnv) extends ThreadSafeRpcEndpoint {
    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case question: Array[Long] =>
        context.reply(answer(question(0), question(1).toInt, question(2) == 1) match {
          case LateFilter.Open => Array.emptyByteArray
          case LateFilter.Never => Array[Byte](0)
          case LateFilter.Arrived(bloom) =>
            val bytes = serializer.serialize(bloom)
            val copy = new Array[Byte](bytes.remaining)
            bytes.get(copy)
            copy
        })
    }
  }
}
