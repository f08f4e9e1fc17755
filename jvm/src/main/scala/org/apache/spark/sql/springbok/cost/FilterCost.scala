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

  /** Looking a row up in another join's shuffled hash table, or in a broadcast relation of unknown size. */
  val probe = 40.0
  val merge = 30.0
  val collect = 500.0
  val project = 2.0

  /** Reading and decoding a value of a column. */
  val decode = 25.0

  /**
   * Looking one row up in a broadcast relation of so many keys: 40 million lookups of one core, of which one in twenty
   * found a row (dense 6, 7, 13, 58 ns at 2e3, 4e4, 4e5, 4e6 keys; hashed 29, 31, 73, 170; strings 136 at 2e3).
   *
   * @param whole
   *   whether the relation's key is one whole number, kept in an array where its values are dense
   */
  def lookup(keys: Double, whole: Boolean, dense: Boolean): Double = {
    val (base, miss) = if (!whole) (100.0, 2.0) else if (dense) (5.0, 0.8) else (26.0, 2.0)
    base + miss * (if (keys < 5e4) 0 else if (keys < 1e6) 20 else 65)
  }

  /** Whether Spark keeps a relation of that many whole-number keys within such a range in an array. */
  def dense(range: Double, keys: Double): Boolean = range < math.max(1024.0, 4 * keys)

  /** What placing a filter takes of what a stage takes to be planned and scheduled. */
  val localShare = 0.05

  /** What is taken for the part of rows that stays when nothing is known. */
  val unknownKept = 0.5

  /** Testing one row against a bloom filter of this size: what grows is the chance that a test misses the caches. */
  def test(bloomBytes: Long): Double =
    if (bloomBytes <= (256L << 10)) 6 else if (bloomBytes <= (2L << 20)) 10 else 20

  /** Testing one row against a bitmap of this size: a bound and a bit. */
  def testBitmap(bytes: Long): Double = test(bytes) / 3

  /** Comparing one value with a bound. */
  val compare = 2.0

  /** Whether testing pays: what the rejected rows save against what all rows pay, with a margin for the estimate. */
  def pays(kept: Double, savedNs: Double, testNs: Double): Boolean = (1 - kept) * savedNs > testNs * 1.25

  /**
   * What a row that is removed at a scan saves.
   *
   * @param joinNs
   *   time in ns that the join whose filter it is takes for a row
   * @param wayNs
   *   time in ns on the way there
   * @param reach
   *   the part of the rows that would have got there
   */
  final case class Saving(joinNs: Double, wayNs: Double = 0, reach: Double = 1) {
    def ns: Double = wayNs + reach * joinNs

    /** The same from below an operator that takes `cost` ns a row and lets the part `passed` of them through. */
    def below(cost: Double, passed: Double): Saving = Saving(joinNs, cost + passed * wayNs, passed * reach)
  }

  /** Time in ns of all cores that is lost while so many of them do this work. */
  def idle(workNs: Double, tasks: Double, cores: Int): Double = workNs / tasks * (1 - tasks / cores)
}
