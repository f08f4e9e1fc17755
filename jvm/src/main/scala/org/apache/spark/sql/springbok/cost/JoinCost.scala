package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.springbok.cost.CostConstants._

/**
 * Impala's cost of distributing a join (`DistributedPlanner.createHashJoinFragment`): bytes sent over the network plus
 * bytes inserted into hash tables. Pure functions: numbers in, numbers out; -1 is an unknown cost, as in Impala.
 */
object JoinCost {

  /** An unknown cost. */
  val Unknown: Double = -1

  /** The parts of a cost by name, in bytes. */
  type Terms = Seq[(String, Double)]

  /** The whole cost; unknown if a part is. */
  def sum(terms: Terms): Double = if (terms.exists(_._2 < 0)) Unknown else terms.map(_._2).sum

  /** Bytes that Impala adds to a row for each tuple when it is serialized. */
  val tupleOverhead = 4

  /** Geometric mean of the rows that are expected and that are possible. */
  def risked(rows: Double, bound: Double): Double = math.sqrt(rows * math.max(rows, bound))

  /**
   * Cost of a broadcast: `size × nodes` over the network and `size × nodes` into hash tables, the latter times
   * √cores as with Impala's `mt_dop`; and `size × cores × nodes × driverShare` for what only Spark has to do: the driver
   * collects the side and builds the table alone, while every core of the cluster waits. Where the driver is the only
   * executor the table is there already. The size in all terms is [[SideSize.risked]]. The cost includes the rows that a
   * runtime filter would have removed.
   *
   * @param probeTasks
   *   tasks that look rows up, None if unknown. An executor fetches the relation when it runs its first one
   */
  def broadcast(build: Side, cluster: Cluster, probeTasks: Option[Double] = None): Terms =
    if (build.bytes < 0 || cluster.executors < 1) Seq("network" -> Unknown)
    else {
      val parallel = math.max(1.0, math.sqrt(cluster.coresPerExecutor.toDouble))
      val nodes = probeTasks.fold(cluster.remote.toDouble)(math.min(_, cluster.remote.toDouble))
      Seq(
        "network" -> build.size.risked * nodes,
        "hash tables" -> build.size.risked * nodes * parallel,
        "driver" -> build.size.risked * cluster.cores * driverShare,
        "no filter" -> build.unfiltered
      )
    }

  /** Impala's own broadcast cost: `size × nodes` over the network, and `× √mt_dop` into hash tables; a core is an instance. */
  def impalaBroadcast(build: Side, nodes: Int, coresPerNode: Int): Double =
    if (build.bytes < 0 || nodes < 1) Unknown
    else build.bytes * nodes * (1 + math.max(1.0, math.sqrt(coresPerNode.toDouble)))

  /** Bytes that a partitioned join sends: both sides, unless already partitioned on the keys. */
  def network(left: Side, right: Side): Double =
    if (left.bytes < 0 || right.bytes < 0) Unknown
    else (if (left.layout.partitioned) 0 else left.bytes) + (if (right.layout.partitioned) 0 else right.bytes)

  /** Cost of a partitioned hash join: both sides over the network and the build side's table. */
  def partitioned(probe: Side, build: Side): Terms =
    Seq(
      "network" -> network(probe, build),
      "hash tables" -> (if (build.bytes < 0) Unknown else build.bytes * build.size.tableShare)
    )

  /**
   * Cost of a sort-merge join: both sides over the network and sorted, unless already sorted by the keys; sorting a side
   * measured about as much as sending it.
   */
  def sortMerge(left: Side, right: Side): Terms =
    Seq(
      "network" -> network(left, right),
      "sorting" -> Seq(left, right).filterNot(_.layout.sorted).map(_.bytes).sum * sortShare
    )

  /**
   * Cost of fixed stages of a strategy: one for a broadcast, one for each side that is sent, on all cores.
   */
  def stages(exchanges: Int, cluster: Cluster): Double = exchanges * stageNs / nsPerByte * cluster.cores

  /**
   * Cost of cores that stay idle because rows lie in fewer partitions than there are cores: what is read and looked up
   * takes `cores / partitions` times as long.
   */
  def idleCores(left: Side, right: Side, cluster: Cluster): Double = {
    val partitions = Seq(left, right).filter(_.layout.partitioned).flatMap(_.layout.partitions).maxOption
    val factor = partitions.fold(0.0)(p => cluster.cores.toDouble / math.max(1, p) - 1)
    if (factor <= 0 || left.bytes < 0 || right.bytes < 0) 0 else (left.bytes + right.bytes) * factor
  }

  /**
   * Cost of a join that compares every pair of rows, without what is sent.
   */
  def pairs(left: Side, right: Side, pairNs: Double): Double =
    (for (l <- left.rows; r <- right.rows) yield l * r * pairNs / nsPerByte).getOrElse(Unknown)

  /**
   * Cost of the rows that a lookup finds after the first. A hash table fetches each of them from memory, except for the part
   * that a core's cache holds. A merge reads them in sequence.
   *
   * @param pairs
   *   pairs of rows with equal keys, None if unknown or if a lookup ends at the first one
   * @param table
   *   bytes of the hash table that one task looks up
   */
  def chains(probe: Side, pairs: Option[Double], table: Double): Double = {
    val fetched = math.max(0.0, 1 - cacheBytes / math.max(1.0, table))
    pairs.fold(0.0)(n => math.max(0.0, n - probe.rows.getOrElse(n)) * fetched * chainedPairNs / nsPerByte)
  }

  /** Bytes that a cartesian product reads: the right side once for each partition of the left. */
  def cartesianReads(left: Side, right: Side, cluster: Cluster): Double =
    if (left.bytes < 0 || right.bytes < 0) Unknown
    else left.bytes + right.bytes * partitions(left, cluster)

  /**
   * Cost of the tasks of a cartesian product, one for each partition of the left with each of the right. A task is charged
   * as one of a stage that has a task on every core.
   */
  def cartesianTasks(left: Side, right: Side, cluster: Cluster): Double =
    if (left.bytes < 0 || right.bytes < 0) Unknown
    else partitions(left, cluster) * partitions(right, cluster) * stageNs / nsPerByte

  /** Partitions of a side; at least one for each core where nobody has counted them. */
  private def partitions(side: Side, cluster: Cluster): Double =
    side.layout.partitions.fold(math.max(cluster.cores.toDouble, side.bytes / scanPartition))(_.toDouble)

  private val scanPartition = 128.0 * (1 << 20)

  /**
   * Bytes of the largest partition of a build side of so many bytes.
   *
   * @param partitions
   *   partitions of the shuffle
   * @param advisoryBytes
   *   size up to which adaptive execution puts small partitions together: compressed bytes of all shuffles of the stage
   */
  def largestPartition(
      bytes: Double,
      build: Side,
      probe: Side,
      partitions: Int,
      advisoryBytes: Long
  ): Double = {
    // Rows that lie in few partitions already stay there, and the other side is sent to them.
    val fixed = Seq(build, probe).filter(_.layout.partitioned).flatMap(_.layout.partitions).maxOption
    val even = bytes / math.max(1, fixed.getOrElse(partitions))
    // Nobody counts the partitions of what is not shuffled, and nothing is planned anew when one is larger.
    val largest =
      build.layout.largestPartition.getOrElse(
        if (build.layout.partitioned) math.min(bytes, even * skew) else even
      )
    def measured = for (b <- build.layout.shuffled; p <- probe.layout.shuffled if b.size == p.size)
      yield bytes * merged(b, p, advisoryBytes * mergedOverAdvisory) / math.max(1.0, b.sum.toDouble)
    // Put together, a partition holds rows of both sides.
    def expected = {
      val share = probe.size.boundBytes.fold(1.0)(p => bytes / math.max(1.0, bytes + p))
      math.min(bytes, advisoryBytes * compression * share)
    }
    math.max(largest, measured.getOrElse(expected))
  }

  /** The most bytes of the build side in adjacent partitions that have at most so many bytes together, or in one partition. */
  private def merged(build: Seq[Long], probe: Seq[Long], most: Double): Double = {
    var (from, held, all, largest) = (0, 0L, 0L, 0L)
    for (i <- build.indices) {
      held += build(i)
      all += build(i) + probe(i)
      while (from < i && all > most) {
        held -= build(from)
        all -= build(from) + probe(from)
        from += 1
      }
      largest = math.max(largest, held)
    }
    largest.toDouble
  }

  /** A merged partition may be larger than the advisory size by this: `ShufflePartitionsUtil.MERGED_PARTITION_FACTOR`. */
  private val mergedOverAdvisory = 1.2
}

/** Cost of the two ways to write a shuffle, in ns of one core. */
object ShuffleWriteCost {

  /**
   * Savings of sorting the rows instead of writing one file per partition; negative if sorting costs more.
   *
   * @param rows
   *   of all tasks
   * @param tasks
   *   that write the shuffle
   */
  def saved(rows: Double, tasks: Double, partitions: Int): Double =
    tasks * partitions * shuffleFileNs - rows * shuffleSortNs
}
