package org.apache.spark.sql.springbok.filter

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Literal, V2ExpressionUtils}
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.springbok.SourceKey
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokConf

/**
 * What a connector's scan can leave out by the keys of a build side. Such a scan names the columns that it filters by when
 * it starts, as for dynamic partition pruning; what it leaves out is its own matter, of whole files at most.
 *
 * It keeps the predicate for as long as it lives, which may be longer than the plan that it is part of: as with Spark's
 * own pruning. It is the scan of one relation of one query, all of whose rows the join's other side decides about.
 */
private object ConnectorPruning {

  /** Whether the scan filters by this column. */
  def names(scan: BatchScanExec, column: Attribute): Boolean = scan.scan match {
    case s: SupportsRuntimeV2Filtering =>
      val known = V2ExpressionUtils.resolveAttributeRefs(s.filterAttributes(), scan.output)
      AttributeSet(known).contains(column)
    case _ => false
  }

  def of(scan: BatchScanExec, column: Attribute, k: KeyFacts, conf: SQLConf): Option[Pushed] =
    if (!names(scan, column)) None
    else {
      val predicates = new KeyPredicates(column, conf)
      val few = predicates.listed(k).filter(_.size <= conf.getConf(SpringbokConf.FILTER_IN_LIMIT))
      for {
        (kind, predicate) <- predicates.exact(few).orElse(predicates.bounded(k))
        // Of no keys at all the row filter takes care.
        if predicate != Literal.FalseLiteral
      } yield Pushed(kind, predicate, partition = true, None)
    }

  /** The bound of a comparison, if the column's type has it. */
  def bound(scan: BatchScanExec, column: Attribute, b: SourceKey.Bound, value: Any): Option[Pushed] =
    for {
      literal <- KeyPredicates.literal(value, column.dataType)
      if names(scan, column)
    } yield Pushed(b.kind, b.predicate(column, literal), partition = true, None)
}
