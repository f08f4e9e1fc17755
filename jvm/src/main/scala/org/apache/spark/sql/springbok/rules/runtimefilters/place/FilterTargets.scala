package org.apache.spark.sql.springbok.rules.runtimefilters.place

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruning, Expression}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{SharedExchanges, TableName}
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.cost.FilterCost.Saving
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.FilterHint
import org.apache.spark.sql.springbok.rules.runtimefilters.resolve.{ConnectorPruning, ScanPruning}

/**
 * A scan that a filter reaches.
 *
 * @param at
 *   the scan, with the filter on it
 * @param key
 *   the key there
 * @param column
 *   the column that stands for it
 * @param saving
 *   what a row that is removed there saves
 * @param sameStage
 *   whether no exchange stands between
 * @param grouped
 *   whether rows are grouped on the way
 * @param benefitNs
 *   what it would save to remove all rows there, in ns of one core, the scans included that it reaches in further hops
 */
final private[springbok] case class Target(
    at: SparkPlan,
    key: Expression,
    table: String,
    column: Attribute,
    label: String,
    saving: Saving,
    sameStage: Boolean,
    benefitNs: Double,
    grouped: Boolean
)

/** The scans of a plan that filters may reach, and the exchanges that they must not pass. */
final private[springbok] class FilterTargets(plan: SparkPlan, estimates: JoinEstimates) {
  private val leverages = new IdentityHashMap[SparkPlan, Double]()

  private val exchanges = new SharedExchanges(plan)

  /** Dynamic partition pruning reads build sides of broadcast joins and must find them as they are. */
  private lazy val prunes: Boolean = plan.exists {
    case f: FileSourceScanExec => f.partitionFilters.exists(_.exists(_.isInstanceOf[DynamicPruning]))
    case b: BatchScanExec => b.runtimeFilters.exists(_.exists(_.isInstanceOf[DynamicPruning]))
    case _ => false
  }

  def isScan(p: SparkPlan): Boolean = FilterTargets.isCached(p) || (p match {
    case f: FilterExec => f.condition.deterministic && isLeaf(f.child)
    case _ => isLeaf(p)
  })

  /** Rows of files, of a connector's table, of an RDD. */
  private def isLeaf(p: SparkPlan): Boolean = p match {
    case _: FileSourceScanExec | _: BatchScanExec | _: RowDataSourceScanExec | _: RDDScanExec => true
    case _ => false
  }

  /** Whether the scan here may be told of a filter. */
  def pushable(at: SparkPlan): Boolean = at.collectLeaves().forall {
    case b: BatchScanExec => ConnectorPruning.alone(b, plan)
    case _ => true
  }

  def routes(p: SparkPlan, key: Expression): Seq[KeyTrace.Route] = p match {
    case e: Exchange if exchanges.shared(e) => Nil
    case _: BroadcastExchangeExec if prunes => Nil
    case j: BaseJoinExec => KeyTrace.routes(j, key).filterNot(r => FilterHint.forbids(j, r.child))
    case _ => KeyTrace.routes(p, key)
  }

  /** The scans that a filter on `key` above `p` reaches. */
  def of(
      p: SparkPlan,
      key: Expression,
      saving: Saving = Saving(0),
      sameStage: Boolean = true,
      leverage: Double = 0,
      grouped: Boolean = false
  ): Seq[Target] =
    if (isScan(p)) {
      // Of an unknown scan the best is hoped.
      val rows = estimates.rows(p).getOrElse(Double.PositiveInfinity)
      val label = FilterKey.column(key).fold(FilterKey.label(key))(_.name)
      val scan = p.collectLeaves().head
      Seq(
        Target(
          p,
          key,
          TableName.of(scan),
          FilterKey.anchor(key),
          label,
          saving,
          sameStage,
          rows * (saving.ns + skipped(scan, key)) + leverage,
          grouped
        )
      )
    } else {
      routes(p, key).flatMap { r =>
        val here = sameStage && !p.isInstanceOf[Exchange]
        val further = p match {
          case j: BaseJoinExec => leverage + this.leverage(j, r.child)
          case _ => leverage
        }
        val groups = grouped || KeyTrace.groups(p)
        of(p.children(r.child), r.key, below(p, r.child, saving), here, further, groups)
      }
    }

  private def below(p: SparkPlan, child: Int, saving: Saving): Saving =
    saving.below(
      estimates.cost(p, child),
      p match {
        case j: BaseJoinExec => estimates.passed(j, child)
        case _ => 1
      }
    )

  /** What reading a row takes, in ns, as far as the scan may skip whole files or row groups by the key. */
  private def skipped(scan: SparkPlan, key: Expression): Double = {
    val part = FilterKey.column(key, scan).fold(0.0) { a =>
      scan match {
        case s: FileSourceScanExec if ScanPruning.byPartition(s, a, SQLConf.get) => 1.0
        case s: FileSourceScanExec =>
          estimates.footers(s.relation).flatMap(_.clustering(a.name)).getOrElse(0.0)
        case b: BatchScanExec if ConnectorPruning.names(b, a) => 1.0
        case _ => 0.0
      }
    }
    part * scan.output.size * FilterCost.decode
  }

  /** What the filters of a join below save if this child of it, their source, is reduced: the next hop. */
  private def leverage(j: BaseJoinExec, child: Int): Double = estimates.direction(j) match {
    case Some(Right(Direction(`child`))) =>
      val known = leverages.get(j)
      if (leverages.containsKey(j)) known
      else {
        val keys = if (child == 0) j.rightKeys else j.leftKeys
        val probe = j.children(1 - child)
        val most =
          keys.map(k => of(probe, k, own(j)).map(_.benefitNs).sum).maxOption.getOrElse(0.0)
        leverages.put(j, most): Unit
        most
      }
    case _ => 0.0
  }

  /** What a row saves at the join itself whose filter it is. */
  def own(j: BaseJoinExec): Saving = Saving(j match {
    case b: BroadcastHashJoinExec => estimates.lookupNs(b)
    case _ => KeyTrace.cost(j)
  })

  def whyNone(p: SparkPlan, key: Expression): Reason = {
    def stopped(p: SparkPlan, key: Expression): Option[Reason] = p match {
      case e: Exchange if exchanges.shared(e) => Some(Reason.reusedExchange)
      case _: BroadcastExchangeExec if prunes => Some(Reason.pruningSide)
      case j: BaseJoinExec if KeyTrace.routes(j, key).exists(r => FilterHint.forbids(j, r.child)) =>
        Some(Reason.filterHint)
      case _ =>
        KeyTrace.routes(p, key).iterator.flatMap(r => stopped(p.children(r.child), r.key)).nextOption()
    }
    stopped(p, key).getOrElse(Reason.noTarget)
  }
}

private[springbok] object FilterTargets {

  /**
   * A cached table with the projections and filters on it. Adaptive execution looks for the operators that a cached
   * table's logical node became, puts its stage there, and marks all that stands below them: with an edge among them the
   * build side as well, which it would then take for the table. So an edge stands above them all.
   */
  def isCached(p: SparkPlan): Boolean = p match {
    case _: InMemoryTableScanExec | _: TableCacheQueryStageExec => true
    case f: FilterExec => f.condition.deterministic && isCached(f.child)
    case p: ProjectExec => p.projectList.forall(_.deterministic) && isCached(p.child)
    case _ => false
  }
}
