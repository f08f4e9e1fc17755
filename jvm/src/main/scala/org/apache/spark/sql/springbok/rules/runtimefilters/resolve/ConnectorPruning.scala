package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.catalyst.expressions.{Attribute, Literal}
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.springbok.RuntimeFilterExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.{Comparison, KeyFacts, KeyPredicates}

/**
 * What a connector's scan can leave out by the keys of a build side. Such a scan names the columns that it filters by when
 * it starts, as for dynamic partition pruning; what it leaves out is its own matter, of whole files at most.
 *
 * It keeps the predicate for as long as it lives, for all that read it. So it has to be read once ([[alone]]): an `UPDATE`
 * that rewrites groups of rows reads what it changes and what it copies by one scan, and its commit replaces what that scan
 * has read.
 */
private[springbok] object ConnectorPruning {

  /** Whether the scan filters by this column. */
  def names(scan: BatchScanExec, column: Attribute): Boolean = scan.scan match {
    case s: SupportsRuntimeV2Filtering =>
      // By name, as it may name columns that this query does not read.
      s.filterAttributes()
        .exists(_.fieldNames.toSeq match {
          case Seq(name) => SQLConf.get.resolver(name, column.name)
          case _ => false
        })
    case _ => false
  }

  /** Whether nothing else of the query, subqueries and finished stages included, reads by the same scan, nor writes. */
  def alone(scan: BatchScanExec, query: SparkPlan): Boolean =
    !scan.table.isInstanceOf[RowLevelOperationTable] && scans(query).count(_.scan eq scan.scan) <= 1

  private def scans(p: SparkPlan): Seq[BatchScanExec] = p match {
    case b: BatchScanExec => Seq(b)
    case q: QueryStageExec => scans(q.plan)
    case a: AdaptiveSparkPlanExec => scans(a.executedPlan)
    case _: ReusedExchangeExec => Nil
    // Its second child stands under a join as well.
    case f: RuntimeFilterExec => scans(f.child)
    case _ => (p.children ++ p.subqueries).flatMap(scans)
  }

  def of(scan: BatchScanExec, column: Attribute, k: KeyFacts, conf: SQLConf): Option[Pushed] =
    if (!names(scan, column)) None
    else {
      val predicates = new KeyPredicates(column, conf)
      val few = predicates.listed(k).filter(_.size <= conf.getConf(FilterConf.IN_LIMIT))
      for {
        (kind, predicate) <- predicates.exact(few).orElse(predicates.bounded(k))
        // Of no keys at all the row filter takes care.
        if predicate != Literal.FalseLiteral
      } yield Pushed(kind, predicate, partition = true, None)
    }

  /** The bound of a comparison, if the column's type has it. */
  def bound(scan: BatchScanExec, column: Attribute, c: Comparison, value: Any): Option[Pushed] =
    for (predicate <- KeyPredicates.bound(column, c, value) if names(scan, column))
      yield Pushed(c.kind, predicate, partition = true, None)
}
