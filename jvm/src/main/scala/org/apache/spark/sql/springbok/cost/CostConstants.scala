package org.apache.spark.sql.springbok.cost

/**
 * The measured constants of the cost model: times in ns of one core, sizes in bytes, shares without a unit. Costs of join
 * strategies are counted in bytes that could be sent, as Impala's are: [[nsPerByte]] converts them.
 */
object CostConstants {

  /** A byte that is sent or built into a table: 300 ns for a row of about 75 bytes ([[shuffleNs]]). */
  val nsPerByte = 4.0

  /**
   * Planning and scheduling a stage, in which each core could have sent 8 MB. It makes a broadcast the best for tiny inputs, as
   * Impala's `EXEC_SINGLE_NODE_ROWS_THRESHOLD` does.
   */
  val stageNs: Double = 8.0 * (1 << 20) * nsPerByte

  /** Operators, for each row. Orders of magnitude, measured on TPC-H: a shuffle costs as much as dozens of filter tests. */
  val shuffleNs = 300.0
  val sortNs = 300.0
  val aggregateNs = 80.0

  /** A grouping column of variable length, and a group that is not in a core's cache. */
  val aggregateTextNs = 40.0
  val aggregateMissNs = 60.0
  val windowNs = 150.0
  val mergeNs = 30.0
  val collectNs = 500.0
  val projectNs = 2.0

  /** Looking a row up in a shuffled hash table, or in a broadcast relation of unknown size. */
  val probeNs = 40.0

  /** A row of a join's result: copied, and its columns read again. */
  val outputNs = 20.0

  /** Reading a row from a file, and reading and decoding a value of a column. */
  val scanNs = 50.0
  val decodeNs = 25.0

  /** Comparing one value with a bound. */
  val compareNs = 2.0

  /**
   * What a row saves that is removed below joins whose strategies are not chosen yet: some lookups, for it may not be sent
   * at all. TPC-H q7 at scale 1: the gate of filters counts 100 ns for it.
   */
  val undecidedNs = 100.0

  /** A pair of rows: a nested loop join tests its condition on two rows side by side; a cartesian product joins them first. */
  val nestedLoopPairNs = 12.0
  val cartesianPairNs = 36.0

  /**
   * Fetching a further row of a key from a hash table: measured 5 ns more than in a merge where rows of a key came in
   * together, 150 ns where they did not (1 to 5 million rows with 100 to 1,000 of a key).
   */
  val chainedPairNs = 12.0

  /** Bytes of a hash table up to which such a row is in a core's cache: 6 ns in tables of 2 MB, 45 of 10 MB, 130 of 50 MB. */
  val cacheBytes: Double = 8.0 * (1 << 20)

  /**
   * Writing a shuffle of rows of 20 to 120 bytes into 200 partitions: with one file per partition, each file takes 0.6 to 1 ms,
   * whatever is in it. Sorting takes 120 ns more per row. At 5,000 rows per file both cost the same.
   */
  val shuffleFileNs = 600e3
  val shuffleSortNs = 120.0

  /** Cost of sorting a byte relative to that of sending it. */
  val sortShare = 1.0

  /**
   * Part of a broadcast's cost that the driver bears alone, relative to one core's share of a shuffle of the same bytes:
   * collecting a row and building the table measured 0.4 to 0.55 µs; writing it in a shuffle and reading it 0.45 to 0.65 µs
   * of one core (`benchmarks/studies/join_choice.py`, 1e5 to 3e7 rows of two columns).
   */
  val driverShare = 0.75

  /** Bytes that a row is charged for at least in a join order: see [[driverShare]]. */
  val leastRowBytes = 110.0

  /** Memory that a broadcast relation takes, relative to the bytes of its rows: Impala's margin. */
  val relationOverhead = 1.1

  /** Memory that a hash table takes, relative to the bytes of its rows: pointers, load factor, growth. */
  val hashTableOverhead = 2.0

  /** The largest of a table's buckets, relative to their mean. */
  val skew = 4.0

  /** Rows in memory take up to this times the bytes of their compressed shuffle blocks. */
  val compression = 4.0

  /** The fraction of rows that is assumed to pass a filter if nothing is known. */
  val unknownRetained = 0.5

  /** The time to place a filter, as a fraction of the time to plan and schedule a stage. */
  val localShare = 0.05
}
