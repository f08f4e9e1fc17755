package org.apache.spark.sql.springbok.rules.runtimefilters.place

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.springbok.catalyst.{
  ExpressionLabel,
  FixedOrder,
  HiveScan,
  JoinSide,
  SharedExchanges,
  Sides,
  TableName
}
import org.apache.spark.sql.springbok.cost.CostConstants
import org.apache.spark.sql.springbok.cost.FilterCost.Saving
import org.apache.spark.sql.springbok.keys.{FilterKey, TriedKey}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.RelationHint
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.{PrunableColumns, ScanConnector}

/**
 * A scan that a filter reaches.
 *
 * @param at
 *   the scan, with the query's own filter on it
 * @param key
 *   the key there
 * @param saving
 *   what a row that is removed there saves
 * @param sameStage
 *   whether no exchange stands between the scan and the join
 * @param grouped
 *   whether rows are grouped on the way
 * @param scanNs
 *   what it would save to remove all rows there, in ns of one core
 * @param furtherNs
 *   the same of scans that are filtered in further hops
 * @param skippedNs
 *   the part of `scanNs` that the scan saves by skipping files or row groups by the range of the keys
 */
final private[springbok] case class Target(
    at: SparkPlan,
    key: Expression,
    saving: Saving,
    sameStage: Boolean,
    grouped: Boolean,
    scanNs: Double,
    furtherNs: Double,
    skippedNs: Double
) {
  def benefitNs: Double = scanNs + furtherNs

  /** Whether the scan can skip files or row groups. */
  def skips: Boolean = skippedNs > 0

  /** The same where Spark's own filter removes the rows that the scan reads in vain. */
  def readingLess: Target = copy(saving = Saving(0), scanNs = skippedNs, furtherNs = 0)

  /** The column that stands for the key. */
  def column: Attribute = FilterKey.anchor(key)

  def table: String = TableName.of(at.collectLeaves().head)
  def label: String = FilterKey.column(key).fold(ExpressionLabel(key))(_.name)
}

/** The scans of a plan that filters may reach, and the exchanges that they must not pass. */
final private[springbok] class FilterTargets(plan: SparkPlan, planning: FilterPlanning) {
  import FilterTargets._
  private val leverages = new IdentityHashMap[SparkPlan, Double]()
  private val exchanges = new SharedExchanges(plan)
  private lazy val readOnce = PrunableColumns.readOnce(plan)

  /** The keys that dynamic partition pruning reads, each as the columns that it is made of; None if they are not known. */
  private lazy val pruningKeys: Seq[Option[AttributeSet]] =
    plan.collect { case p => SparkFilters.pruning(p).flatMap(SparkFilters.pruningKeys) }.flatten

  /** Whether dynamic partition pruning may read the build side, and must find it unchanged. */
  private def prunes(b: BroadcastExchangeExec): Boolean =
    pruningKeys.exists(_.forall(_.exists(b.outputSet.contains)))

  /** Whether the plan may read an exchange more than once. */
  def readsTwice: Boolean = exchanges.mayShare

  /** Whether filters may be pushed to the scan here. */
  def pushable(at: SparkPlan): Boolean = at.collectLeaves().forall {
    case b: BatchScanExec => readOnce(b)
    case _ => true
  }

  def routes(p: SparkPlan, key: Expression): Seq[KeyTrace.Route] = p match {
    case e: Exchange if exchanges.shared(e) || isShared(e) => Nil
    case b: BroadcastExchangeExec if prunes(b) => Nil
    case j: BaseJoinExec => KeyTrace.routes(j, key).filterNot(r => RelationHint.forbids(j, r.child))
    case _ => KeyTrace.routes(p, key)
  }

  /**
   * Whether a part of the query that is not visible here may have to read the same rows: Spark puts such an exchange on a WITH
   * query that would give others when it is computed twice, and a subquery is planned alone.
   */
  private def isShared(e: Exchange): Boolean = e match {
    case s: ShuffleExchangeExec => s.shuffleOrigin != ENSURE_REQUIREMENTS && !planning.deterministic(s.child)
    case _ => false
  }

  /**
   * Whether copies of the exchange must give the same rows although it is not deterministic. A filter in one of them, which the
   * budget may refuse for the other, would let Spark compute both.
   */
  def computedOnce(e: Exchange): Boolean = isShared(e) && exchanges.shared(e)

  /**
   * The same below operators that may group rows. A group must lose all of its rows or none, because what is computed of a
   * part of it might raise an error. Of a union's branches, one may have no scan for the filter.
   */
  private def routes(p: SparkPlan, key: Expression, grouped: Boolean): Seq[KeyTrace.Route] = p match {
    case _: UnionExec if grouped => Nil
    case _ => routes(p, key)
  }

  /** Whether a filter on this key above `p` reaches a scan. */
  def reaches(p: SparkPlan, key: Expression, grouped: Boolean = false): Boolean =
    if (isScan(p)) takes(p, key, grouped)
    else
      routes(p, key, grouped)
        .exists(r => reaches(p.children(r.child), r.key, grouped || KeyTrace.groups(p)))

  /** The scans that a filter of a join on this key of its application side reaches. */
  def of(j: BaseJoinExec, application: JoinSide, key: Expression): Seq[Target] =
    below(Sides.children(j)(application), key, Way(Saving(planning.costs.ofJoin(j))))

  private def below(p: SparkPlan, key: Expression, way: Way): Seq[Target] =
    if (isScan(p)) {
      // The best is assumed of an unknown scan.
      val rows = planning.rows(p).getOrElse(Double.PositiveInfinity)
      val skippedNs = this.skippedNs(p.collectLeaves().head, key)
      val scanNs = rows * (way.saving.ns + skippedNs)
      val target =
        Target(p, key, way.saving, way.sameStage, way.grouped, scanNs, way.leverageNs, rows * skippedNs)
      Option.when(takes(p, key, way.grouped))(target).toSeq
    } else
      routes(p, key, way.grouped).flatMap(r => below(p.children(r.child), r.key, step(p, r.child, way)))

  private def step(p: SparkPlan, child: Int, way: Way): Way = {
    val (passed, leverage) = p match {
      case j: BaseJoinExec =>
        val side = if (child == 0) JoinSide.Left else JoinSide.Right
        (planning.rows.passed(j, side), this.leverage(j, side))
      case _ => (1.0, 0.0)
    }
    Way(
      way.saving.below(planning.costs.of(p, child), passed),
      way.sameStage && !p.isInstanceOf[Exchange],
      way.grouped || KeyTrace.groups(p),
      way.leverageNs + leverage
    )
  }

  /** The time in ns for reading a row, as far as the scan can skip whole files or row groups by the key. */
  private def skippedNs(scan: SparkPlan, key: Expression): Double = {
    val part = FilterKey.prunable(key, scan).fold(0.0)(ScanConnector.of(scan).skips(_, planning.stats))
    part * scan.output.size * CostConstants.decodeNs
  }

  /** What the filters of a join below save if their creation side is reduced: the next hop. */
  private def leverage(j: BaseJoinExec, side: JoinSide): Double = planning.direction(j) match {
    case Some(Right(creation)) if creation == side =>
      if (!leverages.containsKey(j)) {
        val benefits = Sides.keys(j)(side.other).map(k => of(j, side.other, k).map(_.benefitNs).sum)
        leverages.put(j, benefits.maxOption.getOrElse(0.0)): Unit
      }
      leverages.get(j)
    case _ => 0.0
  }

  /** Why a filter on this key reaches no scan below `p`. */
  def whyNone(p: SparkPlan, key: Expression): Reason = {
    def stopped(p: SparkPlan, key: Expression): Option[Reason] = p match {
      case e: Exchange if exchanges.shared(e) || isShared(e) => Some(Reason.reusedExchange)
      case b: BroadcastExchangeExec if prunes(b) => Some(Reason.pruningSide)
      case _ if isScan(p) && TriedKey.is(key) =>
        Some(Reason.keyExpression(ExpressionLabel(TriedKey.untried(key))))
      case j: BaseJoinExec if KeyTrace.routes(j, key).exists(r => RelationHint.forbids(j, r.child)) =>
        Some(Reason.filterHint)
      case _ =>
        KeyTrace.routes(p, key).iterator.flatMap(r => stopped(p.children(r.child), r.key)).nextOption()
    }
    stopped(p, key).getOrElse(Reason.noTarget)
  }
}

private[springbok] object FilterTargets {

  /**
   * What a filter has passed between its join and an operator.
   *
   * @param leverageNs
   *   what it saves by reducing the creation sides of joins on the way
   */
  final private case class Way(
      saving: Saving,
      sameStage: Boolean = true,
      grouped: Boolean = false,
      leverageNs: Double = 0
  )

  /** Whether a filter on this key may stand on a scan, whose rows are perhaps grouped on the way: see [[TriedKey]]. */
  private def takes(scan: SparkPlan, key: Expression, grouped: Boolean): Boolean =
    (!TriedKey.is(key) || TriedKey.guardable(key) || !grouped && FixedOrder(scan)) &&
      (!isCached(scan) || key.references.forall(isComputable(scan, _)))

  /**
   * Whether the projections on a cached table may compute a column of theirs for all rows. Spark computes it where it is used
   * first, which may be above a join that drops rows.
   */
  private def isComputable(scan: SparkPlan, column: Expression): Boolean = scan match {
    case ProjectExec(list, child) =>
      KeyTrace
        .through(list, column)
        .exists(below => !TriedKey.is(below) && below.references.forall(isComputable(child, _)))
    case f: FilterExec => isComputable(f.child, column)
    case _ => true
  }

  def isScan(p: SparkPlan): Boolean = isCached(p) || (p match {
    case f: FilterExec => f.condition.deterministic && isLeaf(f.child)
    case _ => isLeaf(p)
  })

  /** Rows of files, of a connector's table, of a Hive table, of an RDD. A filter above them tests their rows whatever they are. */
  private def isLeaf(p: SparkPlan): Boolean = p match {
    case _: FileSourceScanExec | _: BatchScanExec | _: RowDataSourceScanExec | _: RDDScanExec => true
    case HiveScan(_) => true
    case _ => false
  }

  /**
   * A cached table with the projections and filters on it. Adaptive execution looks for the operators that a cached table's
   * logical node became, puts the table's stage there, and marks everything below them. With a filter dependency among them,
   * it would mark the build side as well and then take it for the table. So a filter stands above them all.
   */
  def isCached(p: SparkPlan): Boolean = p match {
    case _: InMemoryTableScanExec | _: TableCacheQueryStageExec => true
    case f: FilterExec => f.condition.deterministic && isCached(f.child)
    case p: ProjectExec => p.projectList.forall(_.deterministic) && isCached(p.child)
    case _ => false
  }
}
