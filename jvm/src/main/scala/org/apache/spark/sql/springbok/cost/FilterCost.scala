package org.apache.spark.sql.springbok.cost

/**
 * What a row costs on its way from the scan to the join, and what testing it costs, in ns of one core. Orders of
 * magnitude, measured on TPC-H; what decides is that a shuffle is worth dozens of tests and a broadcast lookup few.
 */
object FilterCost {
  val shuffle = 300.0
  val sort = 300.0
  val aggregate = 80.0
  val window = 150.0

  /** Looking a row up in another join's broadcast relation or shuffled hash table. */
  val probe = 40.0
  val merge = 30.0
  val collect = 500.0
  val project = 2.0

  /** Reading and decoding a value of a column. */
  val decode = 25.0

  /**
   * What a row saves at the filter's own join: next to nothing for a broadcast join, whose lookup the test repeats for the
   * rows that stay.
   */
  val ownBroadcastProbe = 10.0

  /**
   * What a lookup in a broadcast relation of so many keys takes beyond that: it misses the caches where a bloom filter,
   * a twentieth of its size, does not yet.
   */
  def lookupMiss(keys: Double): Double = if (keys < 5e4) 0 else if (keys < 5e5) 20 else 50

  /** What is taken for the part of rows that stays when nothing is known. */
  val unknownKept = 0.5

  /** Testing one row against a bloom filter of this size: what grows is the chance that a test misses the caches. */
  def test(bloomBytes: Long): Double =
    if (bloomBytes <= (256L << 10)) 6 else if (bloomBytes <= (2L << 20)) 10 else 20

  /** Comparing one value with a bound. */
  val compare = 2.0

  /** Whether testing pays: what the rejected rows save against what all rows pay, with a margin for the estimate. */
  def pays(kept: Double, savedNs: Double, testNs: Double): Boolean = (1 - kept) * savedNs > testNs * 1.25

  /** Time in ns of all cores that is lost while so many of them do this work. */
  def idle(workNs: Double, tasks: Double, cores: Int): Double = workNs / tasks * (1 - tasks / cores)
}
