package org.apache.spark.sql.springbok.cost

/** What testing and looking up a row costs, in ns of one core, and what its removal saves. */
object FilterCost {

  /**
   * Looking one row up in a broadcast relation with this number of keys. Measured with 40 million lookups on one core, one in
   * twenty of which found a row (dense 6, 7, 13, 58 ns at 2e3, 4e4, 4e5, 4e6 keys; hashed 29, 31, 73, 170; strings 136 at
   * 2e3).
   *
   * @param integral
   *   whether the relation's key is one integral number, kept in an array if its values are dense
   */
  def lookup(keys: Double, integral: Boolean, dense: Boolean): Double = {
    val (base, miss) = if (!integral) (100.0, 2.0) else if (dense) (5.0, 0.8) else (26.0, 2.0)
    base + miss * (if (keys < 5e4) 0 else if (keys < 1e6) 20 else 65)
  }

  /** Whether Spark keeps a relation with this number of integral keys within this range in an array. */
  def dense(range: Double, keys: Double): Boolean = range < math.max(1024.0, 4 * keys)

  /** Testing one row against a bloom filter of this size. The larger it is, the more tests miss the caches. */
  def test(bloomBytes: Long): Double =
    if (bloomBytes <= (256L << 10)) 6 else if (bloomBytes <= (2L << 20)) 10 else 20

  /** Testing one row against a bitmap of this size: a bound and a bit. */
  def testBitmap(bytes: Long): Double = test(bytes) / 3

  /** Whether the rejected rows save more than testing all rows costs, with a margin for the estimate. */
  def pays(retained: Double, savedNs: Double, testNs: Double): Boolean =
    (1 - retained) * savedNs > testNs * 1.25

  /**
   * What a row that is removed at a scan saves.
   *
   * @param joinNs
   *   time in ns for a row in the join that the filter is for
   * @param wayNs
   *   time in ns on the way there
   * @param reach
   *   the fraction of the rows that would have reached the join
   */
  final case class Saving(joinNs: Double, wayNs: Double = 0, reach: Double = 1) {
    def ns: Double = wayNs + reach * joinNs

    /** The same below an operator that takes `cost` ns for a row and lets the fraction `passed` of the rows through. */
    def below(cost: Double, passed: Double): Saving = Saving(joinNs, cost + passed * wayNs, passed * reach)
  }

  /** Time in ns of all cores that is lost while this many tasks do this work. */
  def idle(workNs: Double, tasks: Double, cores: Int): Double = workNs / tasks * (1 - tasks / cores)
}
