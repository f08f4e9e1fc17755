package org.apache.spark.sql.springbok.rules.shuffles

import org.apache.spark.SparkEnv
import org.apache.spark.internal.config.SHUFFLE_SORT_BYPASS_MERGE_THRESHOLD
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, RepartitionByExpression}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.REPARTITION_OPERATION
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{ExpandExec, GenerateExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, ShuffleExchangeExec}
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  FilterDependencyExec,
  JoinedBuildSideExec
}
import org.apache.spark.sql.springbok.catalyst.{RuleGuard, SparkShuffles}
import org.apache.spark.sql.springbok.conf.{ExchangeConf, SpringbokConf}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, Cluster, ShuffleWriteCost}
import org.apache.spark.sql.springbok.physical.{PhysicalRows, PlanningEstimates, StageTasks}
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Keeps shuffles of few rows from writing a file for each partition.
 *
 * Up to `spark.shuffle.sort.bypassMergeThreshold` partitions (200, which is also the default number of a shuffle), each map
 * task writes one file for each partition and then concatenates them. At 0.6 ms a file, that takes longer than a filtered scan.
 * Above the threshold, Spark sorts a task's rows by partition and writes one file. So exchanges that are expected to have few
 * rows a file ask for one partition more than the threshold. Adaptive execution merges small partitions as before.
 *
 * '''When''': adaptive execution merges partitions; Spark's own sort shuffle writes them; Spark has added the
 * exchange, with its default number of partitions, which is more than half the threshold; [[ShuffleWriteCost.saved]] is
 * positive, summed over all exchanges that must agree: those that feed one stage, and those that may be equal (see
 * [[StageInputs]]). If one of them is running or has finished, its number applies to the others.
 *
 * '''Why the answer cannot change''': each row goes to the partition that its key's hash determines, for any number of
 * partitions. The inputs of a stage have the same number, so matching rows meet. Numbers that a streaming state or a bucketed
 * table fixes stay, and so does every number in a query that asks for one of its own (see [[MarkRepartitions]]).
 *
 * '''Settings''': `spark.springbok.exchange.chooseWriter`.
 */
object ChooseShuffleWriter extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan =
    if (!SpringbokConf.plans(conf) || !conf.getConf(ExchangeConf.CHOOSE_WRITER)) plan
    else if (PlanningState.isExcluded(plan)) plan
    else {
      val record = JoinState.first(plan).map(_.query)
      RuleGuard("ChooseShuffleWriter", plan, record) {
        val n = conf.numShufflePartitions
        val policy = ChoicePolicy.of(conf)
        val other = policy.sortedPartitions(n, SparkEnv.get.conf.get(SHUFFLE_SORT_BYPASS_MERGE_THRESHOLD))
        val helps =
          n < other && n * 2 >= other && SparkShuffles.sorted && conf.coalesceShufflePartitionsEnabled
        // Taken even if not needed, so that no later planning finds them.
        val stats = record.map(PlanningEstimates.of(plan, _))
        if (!helps || !plan.exists(mayChange(n)) || plan.exists(MarkRepartitions.isMarked)) plan
        else rewritten(plan, n, other, policy, stats.getOrElse(PlanningEstimates(new PlanStats.Lasting)))
      }
    }

  private def mayChange(n: Int)(p: SparkPlan): Boolean = p match {
    case e: ShuffleExchangeExec if e.shuffleOrigin == ENSURE_REQUIREMENTS =>
      e.outputPartitioning match {
        case by @ (_: HashPartitioning | _: RangePartitioning) => by.numPartitions == n
        case _ => false
      }
    case _ => false
  }

  private def rewritten(
      plan: SparkPlan,
      n: Int,
      other: Int,
      policy: ChoicePolicy,
      stats: PlanStats
  ): SparkPlan = {
    val expected = new PhysicalRows(stats)
    val cores = Cluster.of(SparkSession.active.sparkContext, conf).cores
    val tasks = new StageTasks(expected.counted, cores, conf)

    // An upper bound. A partial aggregate has up to one row for each group in each of its tasks, and an operator whose output
    // nothing counts has no more rows than its input.
    def rows(p: SparkPlan, writing: Double): Option[Double] = p match {
      case a: BaseAggregateExec =>
        val in = rows(a.child, writing)
        expected.counted(a).fold(in)(groups => in.map(math.min(_, groups * writing)))
      case _: GenerateExec | _: ExpandExec => expected.counted(p)
      case u: UnaryExecNode => expected.counted(u).orElse(rows(u.child, writing))
      case _ => expected.counted(p)
    }

    def saved(e: ShuffleExchangeExec): Double = {
      val writing = tasks(e.child)
      // If nothing is known, nothing is changed.
      rows(e.child, writing).fold(Double.NegativeInfinity)(
        ShuffleWriteCost.saved(_, writing, n)
      )
    }

    val groups = StageInputs.groups(plan, mayChange(n)).zipWithIndex
    val chosen = groups.flatMap { case (g, i) =>
      val changes = g.fixed match {
        case Nil => policy.sortsShuffles(i)(g.pending.map(saved).sum > 0)
        case numbers => numbers.forall(_ == other)
      }
      if (changes) g.pending else Nil
    }
    change(plan, chosen, other)
  }

  private def change(plan: SparkPlan, chosen: Seq[ShuffleExchangeExec], partitions: Int): SparkPlan = {
    lazy val canonical: Set[SparkPlan] = chosen.map(_.canonicalized).toSet
    def changed(e: ShuffleExchangeExec): SparkPlan = {
      val other = e.copy(outputPartitioning = e.outputPartitioning match {
        case h: HashPartitioning => h.copy(numPartitions = partitions)
        case r: RangePartitioning => r.copy(numPartitions = partitions)
        case same => same
      })
      other.copyTagsFrom(e)
      other
    }
    // Filters know their build side by the canonical form.
    def known(source: SparkPlan): SparkPlan = source.canonicalized.transformDown {
      case e: ShuffleExchangeExec if canonical(e) => changed(e)
    }
    def rewritten(p: SparkPlan): SparkPlan = p.mapChildren(rewritten) match {
      case e: ShuffleExchangeExec if chosen.exists(_ eq p) => changed(e)
      case f: AppliedRuntimeFilterExec if f.late.isDefined => f.withSource(known(f.source))
      case d: FilterDependencyExec => d.copy(exchange = known(d.exchange))(d.waiting)
      case j: JoinedBuildSideExec => j.copy(exchange = known(j.exchange))
      case same => same
    }
    if (chosen.isEmpty) plan else rewritten(plan)
  }
}

/**
 * Marks what a query repartitions into a given number of partitions. If the rows are already partitioned by the same columns
 * into the same number, Spark drops the query's exchange, and an exchange that Spark has added must keep the number.
 *
 * '''When''': always. [[ChooseShuffleWriter]] runs later, and the session may have been switched on in between.
 *
 * '''Why the answer cannot change''': the plan stays as it is.
 */
object MarkRepartitions extends Rule[LogicalPlan] {
  private val tag = TreeNodeTag[Unit]("springbok.repartitioned")

  def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(REPARTITION_OPERATION)) plan
    else
      RuleGuard("MarkRepartitions", plan, None) {
        plan.foreach {
          case r: RepartitionByExpression if r.optNumPartitions.isDefined => r.child.setTagValue(tag, ())
          case _ => ()
        }
        plan
      }

  /** Whether the query asks for the number of partitions of this plan's rows. */
  def isMarked(p: SparkPlan): Boolean = p.logicalLink.exists(_.getTagValue(tag).isDefined)
}
