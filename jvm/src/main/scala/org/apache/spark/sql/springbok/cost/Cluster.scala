package org.apache.spark.sql.springbok.cost

import java.util.{Collections, WeakHashMap}

import scala.util.Try

import org.apache.spark.{ExecutorAllocationClient, SparkConf, SparkContext}
import org.apache.spark.internal.config._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{ClusterConf, JoinConf}
import org.apache.spark.unsafe.array.ByteArrayMethods

/**
 * The cluster that a plan is made for.
 *
 * @param executors
 *   number of executors; a broadcast relation is held once by each
 * @param coresPerExecutor
 *   tasks that share an executor's memory
 * @param executorHeap,
 *   driverHeap bytes
 * @param shufflePartitions
 *   number of partitions of a shuffle
 * @param local
 *   whether the driver itself is the only executor
 */
final case class Cluster(
    executors: Int,
    coresPerExecutor: Int,
    executorHeap: Long,
    driverHeap: Long,
    shufflePartitions: Int,
    local: Boolean = false
) {

  /** Executors that a broadcast has to be sent to. */
  def remote: Int = if (local) 0 else executors

  /** Bytes; both heaps hold a broadcast. */
  def smallerHeap: Double = math.min(driverHeap, executorHeap).toDouble

  /** Most bytes of a broadcast: limited by the setting, and by the heaps. */
  def broadcastLimit(bytes: Long, heapFraction: Double): Double =
    math.min(bytes.toDouble, heapLimit(heapFraction))

  /** The same of a side that has not run, by the session's settings. */
  def broadcastLimit(conf: SQLConf): Double = broadcastLimit(
    JoinConf.broadcastBytes(conf, measured = false),
    conf.getConf(JoinConf.BROADCAST_MEMORY_FRACTION)
  )

  /** Most bytes of a broadcast whose relation may take this fraction of the smaller heap. */
  def heapLimit(fraction: Double): Double =
    smallerHeap * fraction * CostConstants.relationOverhead / CostConstants.hashTableOverhead

  /**
   * Bytes that the relation of a few rows counts as. Spark allocates a page for it, which is 64 MB in any heap of 2 GB or
   * more: 20 small relations take more than most large ones.
   */
  def leastRelation: Double =
    math.min(64.0 * (1 << 20), smallerHeap / 32) / CostConstants.hashTableOverhead

  /** Most bytes that the tasks of a stage may send to the driver: limited by the setting, and by a small fraction of its heap. */
  def mergeLimit(bytes: Long): Long = math.min(bytes, driverHeap / 20)

  /** Most bytes of filters that a task may fill. Spark's memory manager does not count them. */
  def summaryLimit: Long = executorHeap / 20 / math.max(1, coresPerExecutor)

  /** Tasks that run at a time. */
  def cores: Int = executors * coresPerExecutor

  /** A task's share of the memory that Spark's memory manager gives to tables, on the heap and, if that is used, off it. */
  def memoryPerTask(spark: SparkConf): Double =
    (Cluster.onHeap(executorHeap, spark) +: Cluster.offHeap(spark).toSeq).min / math.max(1, coresPerExecutor)

  /** Bytes that the memory manager allocates at a time, as `MemoryManager.defaultPageSizeBytes` chooses them. */
  def page(spark: SparkConf): Double = spark
    .get(BUFFER_PAGESIZE)
    .fold {
      val all = Cluster.offHeap(spark).getOrElse(Cluster.onHeap(executorHeap, spark))
      val each = all * (1 - spark.get(MEMORY_STORAGE_FRACTION)) / math.max(1, coresPerExecutor) / 16
      math.min(
        MemoryLimits.mostPage,
        math.max(MemoryLimits.leastPage, ByteArrayMethods.nextPowerOf2(each.toLong).toDouble)
      )
    }(_.toDouble)
}

object Cluster {

  /**
   * What a context tells of its executors.
   *
   * @param executors
   *   those that have registered
   * @param parallelism
   *   Spark's default number of tasks
   */
  final private case class Live(executors: Int, parallelism: Int)

  /** Hosts of the executors that have registered; None for a cluster that is assumed, and before there are any. */
  def hosts(sc: SparkContext, conf: SQLConf): Option[Int] =
    if (conf.getConf(ClusterConf.EXECUTORS) > 0) None
    else if (sc.isLocal) Some(1)
    else {
      // The block managers' master answers late while it loses an executor.
      val all = Try(sc.statusStore.executorList(activeOnly = true)).getOrElse(Nil)
      val executors = all.filter(_.id != SparkContext.DRIVER_IDENTIFIER)
      Some(executors.map(_.hostPort.replaceFirst(":\\d+$", "")).distinct.size).filter(_ > 0)
    }

  /** Bytes that Spark's memory manager shares among the tasks of an executor and the blocks that it caches. */
  def unifiedMemory(executorHeap: Long, spark: SparkConf): Long =
    (onHeap(executorHeap, spark) + offHeap(spark).getOrElse(0.0)).toLong

  /** Spark takes 300 MB for itself, and starts in no heap where that is more than two thirds. */
  private def onHeap(executorHeap: Long, spark: SparkConf): Double =
    math.max(executorHeap - reserved, executorHeap / 3.0) * spark.get(MEMORY_FRACTION)

  private def offHeap(spark: SparkConf): Option[Double] =
    Option.when(spark.get(MEMORY_OFFHEAP_ENABLED))(spark.get(MEMORY_OFFHEAP_SIZE).toDouble)

  /** Bytes of a heap that the memory manager leaves to Spark itself. */
  private val reserved = 300.0 * (1 << 20)

  /** A context that is being stopped tells nothing more, but the last reports are still made. */
  private val told = Collections.synchronizedMap(new WeakHashMap[SparkContext, Live])

  private def live(sc: SparkContext): Live =
    try {
      val now = Live(if (sc.isLocal) 1 else executors(sc), sc.defaultParallelism)
      told.put(sc, now)
      now
    } catch { case _: IllegalStateException if told.containsKey(sc) => told.get(sc) }

  private def executors(sc: SparkContext): Int = sc.schedulerBackend match {
    case c: ExecutorAllocationClient => c.getExecutorIds().size
    case _ => math.max(0, sc.getExecutorMemoryStatus.size - 1)
  }

  /** The running cluster, unless `spark.springbok.cluster.*` is set. */
  def of(sc: SparkContext, conf: SQLConf): Cluster = {
    val spark = sc.conf
    val local = sc.isLocal
    val Live(live, parallelism) = this.live(sc)
    // Counts until the executors have registered.
    val requested = Seq(
      spark.get(EXECUTOR_INSTANCES).getOrElse(0),
      if (spark.get(DYN_ALLOCATION_ENABLED)) spark.get(DYN_ALLOCATION_MIN_EXECUTORS) else 0
    ).max
    // Unless told otherwise, an executor of a standalone cluster takes all cores of its worker.
    val cores =
      if (local) parallelism
      else if (spark.contains(EXECUTOR_CORES) || Seq("yarn", "k8s").exists(sc.master.startsWith))
        spark.get(EXECUTOR_CORES)
      else if (live > 0 && !spark.contains("spark.default.parallelism"))
        math.ceil(parallelism.toDouble / live).toInt
      else Runtime.getRuntime.availableProcessors
    val heap = Runtime.getRuntime.maxMemory
    def set[T](entry: ConfigEntry[T], otherwise: => T)(implicit n: Numeric[T]): T = {
      val v = conf.getConf(entry)
      if (n.gt(v, n.zero)) v else otherwise
    }
    Cluster(
      executors = set(ClusterConf.EXECUTORS, math.max(1, math.max(live, requested))),
      coresPerExecutor = set(ClusterConf.CORES, math.max(1, cores)),
      executorHeap = set(ClusterConf.EXECUTOR_MEMORY, if (local) heap else spark.get(EXECUTOR_MEMORY) << 20),
      driverHeap = heap,
      shufflePartitions = conf.numShufflePartitions,
      local = local && conf.getConf(ClusterConf.EXECUTORS) <= 0
    )
  }
}

/**
 * The memory that joins may use.
 *
 * @param hashBytes
 *   bytes of the hash tables of one task
 * @param advisoryBytes
 *   adaptive execution's advisory partition size, compressed bytes
 * @param page
 *   bytes that Spark's memory manager allocates at a time
 */
final case class MemoryLimits(
    broadcast: BroadcastLimits,
    hashBytes: Double,
    advisoryBytes: Long,
    page: Double = MemoryLimits.leastPage
)

object MemoryLimits {

  /** The smallest page that Spark chooses, and the largest one. */
  val leastPage: Double = 1.0 * (1 << 20)
  val mostPage: Double = 64 * leastPage
}

/**
 * Limits of a broadcast.
 *
 * @param bytes
 *   largest build side, bytes in memory
 * @param measuredBytes
 *   largest build side that has run already, bytes in memory
 * @param heapFraction
 *   largest fraction of the driver's and of an executor's heap for it
 * @param held
 *   bytes in memory of the broadcasts of the query's other joins, Spark's own among them
 * @param heldElsewhere
 *   bytes in memory of the broadcasts of other queries that run
 * @param stored
 *   bytes of the driver's heap that Spark's blocks hold: relations of earlier queries until they are collected, and what
 *   a local session caches
 * @param sparkBytes
 *   bytes above which Spark itself refuses to collect or broadcast
 * @param sparkRows
 *   rows above which Spark refuses to build a broadcast relation
 */
final case class BroadcastLimits(
    bytes: Long,
    heapFraction: Double,
    measuredBytes: Long = Long.MaxValue,
    held: Double = 0,
    heldElsewhere: Double = 0,
    stored: Long = 0,
    sparkBytes: Long = BroadcastLimits.sparkDefaultBytes,
    sparkRows: Double = BroadcastLimits.sparkDefaultRows
) {

  /** Bytes above which nothing is broadcast. */
  def largest: Long = math.max(bytes, measuredBytes)
}

object BroadcastLimits {

  /** Spark's default of `spark.sql.maxBroadcastTableSize`. */
  val sparkDefaultBytes: Long = 8L << 30

  /** Spark allows 512 million rows in a relation of a single long key, and so many in all others. */
  val sparkDefaultRows: Double = (1 << 29) / 1.5
}
