package org.apache.spark.sql.springbok.rules.shuffles

import org.apache.spark.SparkEnv
import org.apache.spark.internal.config.SHUFFLE_SORT_BYPASS_MERGE_THRESHOLD
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{ExpandExec, GenerateExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, ShuffleExchangeExec}
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.catalyst.{RuleGuard, SharedRewrite}
import org.apache.spark.sql.springbok.conf.{ExchangeConf, SpringbokConf}
import org.apache.spark.sql.springbok.cost.{ChoicePolicy, Cluster, ShuffleWriteCost, StageTasks}
import org.apache.spark.sql.springbok.record.JoinState
import org.apache.spark.sql.springbok.rules.runtimefilters.place.JoinEstimates
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * Spares shuffles of few rows the writing of a file for each partition.
 *
 * Up to `spark.shuffle.sort.bypassMergeThreshold` partitions, 200, and a shuffle has 200 unless told otherwise, each map task
 * writes a file a partition and then puts them together: at 0.6 ms a file that takes longer than a filtered scan. Above
 * it Spark sorts a task's rows by partition and writes one file. So exchanges that are expected to have few rows a file
 * ask for one partition more than the threshold; adaptive execution merges the small partitions as before.
 *
 * '''When''': adaptive execution merges partitions; Spark's own sort shuffle writes them; the exchange is one that Spark
 * has put in, with its number of partitions, more than half the threshold; [[ShuffleWriteCost.saved]] is above 0, summed
 * over all exchanges that have to agree: those that feed one stage, and those that may be the same (see
 * [[StageInputs]]). One of them that is running or has finished decides for the others.
 *
 * '''Why the answer cannot change''': each row goes to the partition that its key's hash says, for any number of them; the
 * inputs of a stage have the same number, so what belongs together meets. Numbers that a streaming state or a bucketed
 * table fixes are left alone, and so is a whole query that asks for a number of its own (see [[MarkRepartitions]]).
 *
 * '''Settings''': `spark.springbok.exchange.chooseWriter`.
 */
object ChooseShuffleWriter extends Rule[SparkPlan] {
  def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(SpringbokConf.ENABLED) || !conf.getConf(ExchangeConf.CHOOSE_WRITER)) plan
    else {
      val record = JoinState.first(plan).map(_.query)
      RuleGuard("ChooseShuffleWriter", plan, record) {
        val n = conf.numShufflePartitions
        val policy = ChoicePolicy.of(conf)
        val other = policy.sortedPartitions(n, SparkEnv.get.conf.get(SHUFFLE_SORT_BYPASS_MERGE_THRESHOLD))
        val helps = n < other && n * 2 >= other && sortsShuffles && conf.coalesceShufflePartitionsEnabled
        if (!helps || !plan.exists(mayChange(n)) || plan.exists(MarkRepartitions.isMarked)) plan
        else rewritten(plan, n, other, policy, record.fold(new PlanStats.Lasting)(_.lasting))
      }
    }

  private def sortsShuffles: Boolean = SparkEnv.get.shuffleManager.isInstanceOf[SortShuffleManager]

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
      lasting: PlanStats.Lasting
  ): SparkPlan = {
    val estimates = new JoinEstimates(conf, lasting)
    val cores = Cluster.of(SparkSession.active.sparkContext, conf).cores
    val tasks = new StageTasks(estimates.counted, cores, conf)

    // At most: a partial aggregate has up to a row a group in each of its tasks, and what nothing counts has no more
    // rows than come in.
    def rows(p: SparkPlan, writing: Double): Option[Double] = p match {
      case a: BaseAggregateExec =>
        val in = rows(a.child, writing)
        estimates.counted(a).fold(in)(groups => in.map(math.min(_, groups * writing)))
      case _: GenerateExec | _: ExpandExec => estimates.counted(p)
      case u: UnaryExecNode => estimates.counted(u).orElse(rows(u.child, writing))
      case _ => estimates.counted(p)
    }

    def saved(e: ShuffleExchangeExec): Double = {
      val writing = tasks(e.child)
      // Where nothing is known nothing is changed.
      rows(e.child, writing).fold(Double.NegativeInfinity)(
        ShuffleWriteCost.saved(_, writing, n)
      )
    }

    val groups = StageInputs.groups(plan, mayChange(n)).zipWithIndex
    val chosen = groups.flatMap { case (g, i) =>
      val wanted = g.fixed match {
        case Nil => policy.sortsShuffles(i)(g.pending.map(saved).sum > 0)
        case numbers => numbers.forall(_ == other)
      }
      if (wanted) g.pending else Nil
    }
    change(plan, chosen, other)
  }

  private def change(plan: SparkPlan, wanted: Seq[ShuffleExchangeExec], partitions: Int): SparkPlan = {
    lazy val canonical: Set[SparkPlan] = wanted.map(_.canonicalized).toSet
    def changed(e: ShuffleExchangeExec): SparkPlan = {
      val other = e.copy(outputPartitioning = e.outputPartitioning match {
        case h: HashPartitioning => h.copy(numPartitions = partitions)
        case r: RangePartitioning => r.copy(numPartitions = partitions)
        case same => same
      })
      other.copyTagsFrom(e)
      other
    }
    val rewrite = new SharedRewrite((p, children) =>
      p.mapChildren(children) match {
        case e: ShuffleExchangeExec if wanted.exists(_ eq p) => changed(e)
        // It knows its build side's stage by its canonical form.
        case f: AppliedRuntimeFilterExec if f.late.isDefined =>
          f.withSource(f.source.transformDown {
            case e: ShuffleExchangeExec if canonical(e) => changed(e)
          })
        case same => same
      }
    )
    if (wanted.isEmpty) plan else rewrite(plan)
  }
}
