package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  RuntimeFilterExec,
  SummarizeKeysExec
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{OtherColumnarRules, ResultLimit, RuleGuard}
import org.apache.spark.sql.springbok.conf.{ExchangeConf, FilterConf, FilterMode, SpringbokConf}
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.springbok.keys.KeySummary
import org.apache.spark.sql.springbok.physical.{PhysicalRows, PlanningEstimates, StageTasks}
import org.apache.spark.sql.springbok.record.{FilterRecord, FilterState, JoinState, PlanningState}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Places runtime filters: for each equi-join key, a filter dependency of the scans that the key's application side comes from
 * on the exchange of the join's creation side.
 *
 * {{{
 *   SortMergeJoin l_orderkey = o_orderkey           SortMergeJoin l_orderkey = o_orderkey
 *   :- Exchange                                     :- Exchange
 *   :  +- Scan lineitem                         =>  :  +- RuntimeFilter RF000 -> l_orderkey   (depends on the
 *   +- Exchange                                     :     +- Scan lineitem                      exchange below)
 *      +- Filter                                    +- Exchange
 *         +- Scan orders                               +- RuntimeFilterSource RF000 <- o_orderkey
 *                                                         +- Filter
 *                                                            +- Scan orders
 * }}}
 *
 * Runs after `EnsureRequirements`, on the first plan and on each re-planning of adaptive execution, which finds the same
 * filters again. It works from the root down and finishes a join's creation side before it enters the application side. So a
 * filter knows the creation side with its own filters, and there is no cycle.
 *
 * '''When''': the join drops rows of the application side without a match (inner; semi and right outer on the left; semi, left
 * outer and anti on the right); the creation side comes out of an exchange (see [[FilterSource.of]]) and is deterministic; the
 * key's type compares by its bytes; statistics do not say that most rows would stay; the rows saved are worth the test, or the
 * scan may prune. [[Gate]] lists the conditions one by one.
 *
 * '''Why the answer cannot change''': see [[KeyTrace]] for the way down and `ResolveRuntimeFilters` for what is removed.
 * Until it is decided, a filter passes every row. A filter never goes below an exchange that the plan reads twice, nor into a
 * build side that dynamic partition pruning reads, so neither is computed twice.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
object PlaceRuntimeFilters extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan = {
    lazy val query = JoinState.first(plan).map(_.query)
    // A build side that prunes partitions is planned once more, with its filters in place.
    def done = plan.exists {
      case _: RuntimeFilterExec | _: AppliedRuntimeFilterExec => true
      case _ => false
    }
    if (!SpringbokConf.plans(conf) || query.isEmpty || done) plan
    else
      RuleGuard("PlaceRuntimeFilters", plan, query) {
        if (isOver(plan, query.get)) plan else estimated(plan, query.get)
      }
  }

  private def estimated(plan: SparkPlan, query: PlanningState): SparkPlan = {
    val stats = PlanningEstimates.of(plan, query)
    val made = place(plan, query, stats)
    // ChooseShuffleWriter comes next.
    if (conf.getConf(ExchangeConf.CHOOSE_WRITER))
      plan.logicalLink.foreach(query.handOver(stats, _))
    made
  }

  /**
   * Whether all scans have started, so that no filter finds a place, and nothing is left to be recorded: each join has been
   * planned, and each filter has been decided or is known to be obsolete.
   */
  private def isOver(plan: SparkPlan, query: PlanningState): Boolean = {
    def open(s: JoinState) = !s.filters.searched || s.filters.separated.isDefined || s.filters.late
    def pending(f: FilterRecord) = f.state match {
      case p: FilterState.Placed => p.obsolete.isEmpty
      case _ => false
    }
    !plan.exists(FilterTargets.isScan) &&
    !plan.exists(p => JoinState.of(p).exists(open)) &&
    !query.filters.all.exists(pending)
  }

  private def place(plan: SparkPlan, query: PlanningState, stats: PlanStats): SparkPlan = {
    val planning = new FilterPlanning(plan, query, stats, conf)
    val groups = new SeparateGroups(plan, planning)
    val (placed, filters) = new FilterPlacement(groups.separate(), planning).place()
    val unused = groups.unused(placed)
    if (unused.isEmpty) {
      filters.commit()
      placed
    } else {
      unused.foreach(_.place(_.copy(separated = None)))
      filters.discard()
      place(plan, query, stats)
    }
  }
}

/**
 * What all steps of one planning share: settings, and estimates that are made once.
 *
 * @param plan
 *   without the filters of this planning
 */
final private[springbok] class FilterPlanning(
    plan: SparkPlan,
    val query: PlanningState,
    val stats: PlanStats,
    val conf: SQLConf
) {
  val rows = new PhysicalRows(stats)
  val costs = new OperatorCost(rows)
  val selectivity = new FilterSelectivity(rows, conf)
  val deterministic = new Determinism
  val direction = new FilterDirection(rows, selectivity, deterministic, conf)

  lazy val cluster: Cluster = Cluster.of(SparkSession.active.sparkContext, conf)
  lazy val waiting = new Waiting(new BuildTime(rows, costs, cluster.cores, conf), conf)

  val mode: FilterMode = conf.getConf(FilterConf.MODE)

  /** Whether filters are operators of the plan. */
  def places: Boolean = mode != FilterMode.Off && mode != FilterMode.Plain
  val minBenefitMs: Double = conf.getConf(FilterConf.MIN_BENEFIT_MS).toDouble
  val minRejection: Double = conf.getConf(FilterConf.MIN_REJECTION)

  /** Another extension's rule that replaces operators, as native engines have; it might not know a filter's operators. */
  def columnarRule: Option[String] = query.columnarRule(OtherColumnarRules.replacing(plan))

  /** Bytes of summaries that the driver merges. Those of a broadcast are part of the result that Spark limits. */
  def mergeBytes(exchange: SparkPlan): Long = {
    val most = cluster.mergeLimit(conf.getConf(FilterConf.MERGE_BYTES))
    if (!BuildSides.isBroadcast(exchange)) most else math.min(most, resultLimit / 10)
  }

  /** Bytes of the summary of one task. Spark drops the result of any task, of a shuffle as well, that is above its limit. */
  def taskBytes: Long = math.min(cluster.summaryLimit, resultLimit / 4)

  /**
   * Size in bytes of the bloom filter that the tasks of an exchange can send; None if they cannot send what it takes.
   *
   * @param keys,
   *   rows expected distinct keys and rows of the exchange
   * @param planned
   *   the size in bytes that the keys call for
   */
  def sent(exchange: SparkPlan, keys: Double, rows: Double, planned: Long): Option[Long] = {
    val running = SummarizeKeysExec.summaryOf(exchange).map(_.tasks).filter(_ > 0).map(_.toDouble)
    val stage = SummarizeKeysExec.exchangeOf(exchange).children.head
    val tasks = running.getOrElse(new StageTasks(this.rows(_), cluster.cores, conf)(stage))
    val share = math.min((mergeBytes(exchange) / tasks).toLong, taskBytes)
    KeySummary.sent(planned, math.min(keys, rows / tasks), share)
  }

  private def resultLimit = ResultLimit.bytes(SparkSession.active.sparkContext.conf)

  /** Time in ms of all cores for work in ns of one core. */
  def ms(ns: Double): Double = ns / 1e6 / cluster.cores
}
