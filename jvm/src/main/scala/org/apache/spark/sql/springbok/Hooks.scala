package org.apache.spark.sql.springbok

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.springbok.catalyst.SparkPlanning
import org.apache.spark.sql.springbok.conf.Settings
import org.apache.spark.sql.springbok.rules.aggregates.{AggregateBelowJoins, PlanLocalAggregate}
import org.apache.spark.sql.springbok.rules.conjuncts.OrderConjuncts
import org.apache.spark.sql.springbok.rules.guard.LeaveGuarded
import org.apache.spark.sql.springbok.rules.hints.ResolveRelationHints
import org.apache.spark.sql.springbok.rules.joins.{
  ChooseJoinStrategy,
  LeaveToSpark,
  PlanNullAwareAntiJoin,
  PlanSingleNode,
  ReviseJoinStrategy
}
import org.apache.spark.sql.springbok.rules.reorder.ReorderJoins
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.{RememberScanFilters, RememberScans}
import org.apache.spark.sql.springbok.rules.runtimefilters.merge.PruneMergeTarget
import org.apache.spark.sql.springbok.rules.runtimefilters.place.PlaceRuntimeFilters
import org.apache.spark.sql.springbok.rules.runtimefilters.plain.PushFinishedKeys
import org.apache.spark.sql.springbok.rules.runtimefilters.resolve.ResolveRuntimeFilters
import org.apache.spark.sql.springbok.rules.shuffles.{ChooseShuffleWriter, MarkRepartitions}
import org.apache.spark.sql.springbok.rules.subplans.MergeScans

/**
 * Springbok's hooks into Spark. `SpringbokExtensions` calls it if this jar can work on the Spark that runs.
 *
 * {{{
 *   parsed plan
 *     | analyzer .......... [ResolveRelationHints] the query's hints that Spark does not know
 *   analyzed plan
 *     | normalization ..... [LeaveGuarded] hinted, listed and control runs are left to Spark
 *     | normalization ..... [PruneMergeTarget] a MERGE gets the keys of its source into its condition
 *     | optimizer ......... [MergeScans] aggregates that differ in their filters alone are computed in one pass
 *     | ................. [RememberScanFilters] what Spark is about to push to connectors
 *     | ................. [LateRules] appends RememberScans, LeaveToSpark, ReorderJoins, AggregateBelowJoins, OrderConjuncts,
 *     |                     ChooseJoinStrategy, PlanSingleNode and MarkRepartitions to the last batch
 *   optimized plan          after join reorder, dynamic partition pruning and Spark's own bloom filters
 *     | planner ........... [PlanNullAwareAntiJoin] NOT IN as a hash lookup
 *     | ................. [PlanLocalAggregate] aggregates below joins
 *   physical plan
 *     | stage preparation . [PlaceRuntimeFilters] scans depend on build sides, after EnsureRequirements
 *     | ................. [ChooseShuffleWriter] few rows are written into one file for each task
 *     v                                                                    <---------------------------------+
 *   a stage is made ....... [ResolveRuntimeFilters] its build sides are finished: filters become predicates  |
 *   a stage finishes ...... [ReviseJoinStrategy] the choice again with real sizes, then planned anew --------+
 *     | ................. [PushFinishedKeys] beside a native engine, scans get predicates on the keys of finished broadcasts
 *     |
 *   the query has ended ... [FinishedQueries] one line in the log, and the report for the session, the UI and the event log
 * }}}
 */
private[springbok] object Hooks {
  def into(e: SparkSessionExtensions): Unit = {
    // Makes Spark know the settings, so that a wrong value fails when it is set.
    Settings.entries.foreach(_.key)

    // The builder is called at every optimization; the only place where the session's state can be reached.
    e.injectOptimizerRule { session =>
      LateRules.register(session.asInstanceOf[SparkSession])
      NoRule
    }
    e.injectPlanNormalizationRule(session => new LeaveGuarded(session.asInstanceOf[SparkSession]))
    SparkPlanning.injectHintRule(e, ResolveRelationHints)
    e.injectResolutionRule(session => new ReportHint(session.asInstanceOf[SparkSession]))
    ReportFunctions.into(e)
    e.injectPlannerStrategy(_ => PlanLocalAggregate)
    // Called in the thread that plans, which may be another one than has optimized.
    e.injectPlannerStrategy { session =>
      SparkSettings.set(session.asInstanceOf[SparkSession])
      PlanNullAwareAntiJoin
    }
    e.injectPlanNormalizationRule(_ => PruneMergeTarget)
    e.injectPreCBORule(_ => MergeScans)
    e.injectPreCBORule(_ => RememberScanFilters)
    e.injectRuntimeOptimizerRule(_ => ReviseJoinStrategy)
    e.injectRuntimeOptimizerRule(_ => PushFinishedKeys)
    e.injectQueryStagePrepRule(_ => PlaceRuntimeFilters)
    e.injectQueryStagePrepRule(_ => ChooseShuffleWriter)
    e.injectQueryStageOptimizerRule(_ => ResolveRuntimeFilters)
  }
}

/** Rules that have to come after all of Spark's. */
private object LateRules {
  private val rules =
    Seq(
      RememberScans,
      LeaveToSpark,
      ReorderJoins,
      AggregateBelowJoins,
      OrderConjuncts,
      ChooseJoinStrategy,
      PlanSingleNode,
      MarkRepartitions
    )

  /** Appends them once a session, beside what a user has put there. */
  def register(session: SparkSession): Unit = synchronized {
    val experimental = session.experimental
    if (!experimental.extraOptimizations.contains(ChooseJoinStrategy)) {
      experimental.extraOptimizations = experimental.extraOptimizations ++ rules
      Settings.warnUnknown(session.sessionState.conf)
      FinishedQueries.listenTo(session.sparkContext)
    }
    SparkSettings.set(session)
  }
}

/** What `injectOptimizerRule` wants in return. */
private object NoRule extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan
}
