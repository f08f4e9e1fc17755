package org.apache.spark.sql.springbok.filter

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruning, Expression}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.report.Reason

/**
 * A scan that a filter reaches.
 *
 * @param column
 *   the scan's column that the key is
 * @param savedNs
 *   what a row that is removed there saves up to the join, in ns
 * @param sameStage
 *   whether no exchange stands between
 */
final private[filter] case class Target(table: String, column: Attribute, savedNs: Double, sameStage: Boolean)

/** The scans of a plan that filters may reach, and the exchanges that they must not pass. */
final private[filter] class FilterTargets(plan: SparkPlan) {

  /** Canonical forms of exchanges that the plan reads more than once: a filter below one of them would split them. */
  private lazy val shared: Set[SparkPlan] = {
    val seen = mutable.Map.empty[SparkPlan, Int]
    def count(p: SparkPlan): Unit = {
      p.foreach {
        case e: Exchange => seen(e.canonicalized) = seen.getOrElse(e.canonicalized, 0) + 1
        case r: ReusedExchangeExec => seen(r.canonicalized) = 2
        case _ =>
      }
      p.foreach(_.expressions.foreach(_.foreach {
        case s: ExecSubqueryExpression => inside(s.plan)
        case _ =>
      }))
    }
    def inside(p: SparkPlan): Unit = p.foreach {
      case a: AdaptiveSparkPlanExec => count(a.executedPlan)
      case _ =>
    }
    if (plan.exists(_.isInstanceOf[Exchange])) count(plan)
    seen.collect { case (p, n) if n > 1 => p }.toSet
  }

  /** Dynamic partition pruning reads build sides of broadcast joins and must find them as they are. */
  private lazy val prunes: Boolean = plan.exists {
    case f: FileSourceScanExec => f.partitionFilters.exists(_.exists(_.isInstanceOf[DynamicPruning]))
    case _ => false
  }

  def isScan(p: SparkPlan): Boolean = p match {
    case f: FilterExec => f.condition.deterministic && f.child.isInstanceOf[FileSourceScanExec]
    case _: FileSourceScanExec => true
    case _ => false
  }

  def routes(p: SparkPlan, key: Expression): Seq[KeyTrace.Route] = p match {
    case e: Exchange if shared(e.canonicalized) => Nil
    case _: BroadcastExchangeExec if prunes => Nil
    case _ => KeyTrace.routes(p, key)
  }

  /** The scans that a filter on `key` above `p` reaches. */
  def of(p: SparkPlan, key: Expression, saved: Double = 0, sameStage: Boolean = true): Seq[Target] =
    if (isScan(p)) {
      KeyTrace.column(key).toSeq.map { a =>
        val scan = p.collectFirst { case s: FileSourceScanExec => s }.get
        Target(name(scan), a, saved, sameStage)
      }
    } else {
      routes(p, key).flatMap { r =>
        val here = sameStage && !p.isInstanceOf[Exchange]
        of(p.children(r.child), r.key, saved + KeyTrace.cost(p, r.child), here)
      }
    }

  /** What a row saves at the join itself whose filter it is. */
  def own(j: BaseJoinExec, probe: Int): Double = j match {
    case _: BroadcastHashJoinExec => FilterCost.ownBroadcastProbe
    case _ => KeyTrace.cost(j, probe)
  }

  def whyNone(p: SparkPlan, key: Expression): Reason = {
    def stopped(p: SparkPlan, key: Expression): Option[Reason] = p match {
      case e: Exchange if shared(e.canonicalized) => Some(Reason.reusedExchange)
      case _: BroadcastExchangeExec if prunes => Some(Reason.pruningSide)
      case _ =>
        KeyTrace.routes(p, key).iterator.flatMap(r => stopped(p.children(r.child), r.key)).nextOption()
    }
    stopped(p, key).getOrElse(Reason.noTarget)
  }

  private def name(scan: FileSourceScanExec): String = FilterTargets.table(scan)
}

private[springbok] object FilterTargets {

  /** The name of a scan's table: from the catalog, else the last part of its path. */
  def table(scan: FileSourceScanExec): String = scan.tableIdentifier
    .map(_.table)
    .orElse(scan.relation.location.rootPaths.headOption.map(_.getName.stripSuffix(".parquet")))
    .getOrElse("files")
}
