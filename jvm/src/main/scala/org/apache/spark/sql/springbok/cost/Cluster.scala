package org.apache.spark.sql.springbok.cost

import org.apache.spark.{ExecutorAllocationClient, SparkContext}
import org.apache.spark.internal.config._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.SpringbokConf

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

  /**
   * Most bytes of a broadcast: the setting, or what its relation takes of the part of the smaller heap that one may take.
   */
  def broadcastLimit(bytes: Long, heapFraction: Double): Double = {
    import JoinCost.{hashTableOverhead, relationOverhead}
    math.min(bytes.toDouble, smallerHeap * heapFraction * relationOverhead / hashTableOverhead)
  }

  /**
   * Bytes that the relation of a few rows counts as: Spark allocates a page for it, of 64 MB in any heap of 2 GB, and 20 of
   * them are more than most that are large.
   */
  def leastRelation: Double =
    math.min(64.0 * (1 << 20), smallerHeap / 32) / JoinCost.hashTableOverhead

  /** Most bytes that the tasks of a stage may send to the driver: the setting, or a small part of its heap. */
  def mergeLimit(bytes: Long): Long = math.min(bytes, driverHeap / 20)

  /** Most bytes of filters that a task may fill, which no memory manager counts. */
  def summaryLimit: Long = executorHeap / 20 / math.max(1, coresPerExecutor)

  /** Tasks that run at a time. */
  def cores: Int = executors * coresPerExecutor

  /** Execution memory in bytes that one task can count on. */
  def memoryPerTask(memoryFraction: Double): Double =
    executorHeap * memoryFraction / math.max(1, coresPerExecutor)
}

object Cluster {

  /** Executors that have registered; asked for where nobody has to be waited for, if the cluster's manager can. */
  private def executors(sc: SparkContext): Int = sc.schedulerBackend match {
    case c: ExecutorAllocationClient => c.getExecutorIds().size
    case _ => math.max(0, sc.getExecutorMemoryStatus.size - 1)
  }

  /** The running cluster; `spark.springbok.cluster.*` wins where it is set. */
  def of(sc: SparkContext, conf: SQLConf): Cluster = {
    val spark = sc.conf
    val local = sc.isLocal
    val live = if (local) 1 else executors(sc)
    // Before the first executor has registered, what was asked for stands in.
    val asked = Seq(
      spark.get(EXECUTOR_INSTANCES).getOrElse(0),
      if (spark.get(DYN_ALLOCATION_ENABLED)) spark.get(DYN_ALLOCATION_MIN_EXECUTORS) else 0
    ).max
    // Where nothing says how many cores an executor has, one of a standalone cluster takes its worker's.
    val cores =
      if (local) sc.defaultParallelism
      else if (spark.contains(EXECUTOR_CORES) || Seq("yarn", "k8s").exists(sc.master.startsWith))
        spark.get(EXECUTOR_CORES)
      else if (live > 0 && !spark.contains(DEFAULT_PARALLELISM))
        math.ceil(sc.defaultParallelism.toDouble / live).toInt
      else Runtime.getRuntime.availableProcessors
    val heap = Runtime.getRuntime.maxMemory
    def set[T](entry: ConfigEntry[T], otherwise: => T)(implicit n: Numeric[T]): T = {
      val v = conf.getConf(entry)
      if (n.gt(v, n.zero)) v else otherwise
    }
    Cluster(
      executors = set(SpringbokConf.CLUSTER_EXECUTORS, math.max(1, math.max(live, asked))),
      coresPerExecutor = set(SpringbokConf.CLUSTER_CORES, math.max(1, cores)),
      executorHeap =
        set(SpringbokConf.CLUSTER_EXECUTOR_MEMORY, if (local) heap else spark.get(EXECUTOR_MEMORY) << 20),
      driverHeap = heap,
      shufflePartitions = conf.numShufflePartitions,
      local = local && conf.getConf(SpringbokConf.CLUSTER_EXECUTORS) <= 0
    )
  }
}
