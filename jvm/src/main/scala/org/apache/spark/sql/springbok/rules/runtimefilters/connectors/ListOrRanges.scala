package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, In, Or}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.{KeyFacts, KeyPredicates}

/** Keys as a condition for a source that is not Spark's own. */
private[connectors] object ListOrRanges {

  /**
   * A list of keys. One that is too long becomes several ranges, split at its widest gaps; keys that are not listed become one
   * range.
   *
   * @param longest
   *   values of the longest list that the source compares
   * @return
   *   the kind of the condition and the condition; None if there are no keys, where the row test removes every row, or if they
   *   have no range
   */
  def of(
      column: Attribute,
      k: KeyFacts,
      longest: Int,
      filter: ScanConnector.Filter
  ): Option[(String, Expression)] = {
    val predicates = new KeyPredicates(column, filter.conf)
    val values = predicates.listed(k)
    def list = values
      .filter(_.size <= math.min(longest, filter.conf.getConf(FilterConf.IN_LIMIT)))
      .map(_.flatMap(KeyPredicates.literal(_, column.dataType)))
      .collect { case fitting if fitting.nonEmpty => "in" -> (In(column, fitting): Expression) }
    def ranges = for {
      sorted <- values.flatMap(KeySpan.sorted(_, filter.keyType)) if sorted.size > 1
      spans = KeySpan.split(sorted, FilePruning.maxRanges)
      p <- spans.flatMap(s => predicates.between(s.low, s.high)).reduceOption(Or(_, _))
    } yield "ranges" -> p
    if (values.exists(_.isEmpty)) None else list.orElse(ranges).orElse(predicates.bounded(k))
  }
}
