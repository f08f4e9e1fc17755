package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}

/**
 * The distinct values, without null.
 *
 * @param values
 *   in Catalyst's representation
 * @param whole
 *   whether there are no other values; otherwise no others were seen
 * @param even
 *   whether the way they are stored suggests that no value is much more frequent than the others, nor in long runs
 */
final case class FewValues(values: IndexedSeq[Any], whole: Boolean, even: Boolean) extends ColumnValues {
  override def atMost: Option[Int] = Option.when(whole)(values.size)

  /**
   * Evaluates the predicate for each value and takes all values for equally frequent. None if the predicate cannot be
   * evaluated. A predicate that holds for no value that was seen counts as half a value. For the bound, an even value may
   * be ten times as frequent as on average, and each value that does not match is there at least once.
   */
  override def selectivity(
      predicate: Expression,
      column: Attribute,
      rows: Double,
      nulls: Option[Double]
  ): Option[Selectivity] =
    EvaluatedPredicate
      .of(predicate, column, Seq(values), nulls)
      .map(e => part(e.found.head, rows, nulls.getOrElse(0.0), e.holdsForNull))

  private def part(found: Matches, rows: Double, nulls: Double, holdsForNull: Boolean): Selectivity = {
    val matching = found.matching * values.size.toDouble / math.max(1, found.evaluated)
    val notNull = 1 - nulls
    val expected = notNull * math.max(0.5, matching) / values.size
    val others = if (whole) (values.size - matching) / math.max(1.0, rows) else 0.0
    val most = if (even) expected * ColumnValues.skew else 1.0
    val bound = math.max(expected, math.min(most, notNull - others))
    val more = if (holdsForNull) nulls else 0.0
    Selectivity(math.min(1.0, expected + more), math.min(1.0, bound + more))
  }
}
