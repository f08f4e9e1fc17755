package org.apache.spark.sql.springbok.record

import scala.collection.concurrent.TrieMap

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.keys.Comparison
import org.apache.spark.sql.springbok.reason.Reason

/** What planning remembers about a join between one planning of its query and the next. */
final class JoinState(val query: PlanningState, val logged: LoggedJoin) {
  def id: Int = logged.id

  /** The query's own hint; a hint that Springbok sets is never mistaken for it. */
  def userHint: JoinHint = logged.hint

  /** The strategy that the first planning chose. */
  @volatile var planned: Option[Strategy] = None

  /** The strategy that the last planning chose. */
  @volatile var chosen: Option[Strategy] = None

  /** The join as the last planning of adaptive execution decided it. */
  @volatile var revised: Option[Revised] = None

  /** Whether the first planning found that its build side prunes partitions. */
  @volatile var feedsPruning: Boolean = false

  /** Bytes of the rows of the broadcast that the join makes; of a shared broadcast, this join's part. */
  @volatile var heldBytes: Double = 0

  /** Whether the join's hint is Springbok's. Adaptive execution sets hints of its own, which stay. */
  @volatile var hinted: Boolean = false

  /** The side that its first runtime filters were made from. Scans may wait for it. */
  @volatile var filterSource: Option[JoinSide] = None

  /** Whether the join has been planned physically. */
  @volatile var firstPlanned: Boolean = false

  /** Whether it has filters that no scan waits for. */
  @volatile var lateFilters: Boolean = false

  /** Whether scans wait for the filters that were placed from a key, by the conjunct's number. */
  val scansWait: TrieMap[Int, ScanWait] = TrieMap.empty

  /** The wait of scans for the stage that its filters come from. */
  val stageWait: StageWait = new StageWait

  private val conjuncts = TrieMap.empty[(Sides[Expression], Option[Comparison]), Int]

  /**
   * The number of a conjunct of its condition, the same in all plannings.
   *
   * @param values
   *   what is compared
   * @param range
   *   how the left value is compared with the right one; None for an equality
   */
  private[springbok] def numberOf(values: Sides[Expression], range: Option[Comparison]): Int =
    conjuncts.synchronized(conjuncts.getOrElseUpdate((values.map(_.canonicalized), range), conjuncts.size))

  @volatile private var separate: Option[JoinSide] = None

  /** The side whose groups were given an exchange of their own. */
  def separated: Option[JoinSide] = separate

  def separateGroups(side: JoinSide, why: Reason): Unit = {
    separate = Some(side)
    logged.separation = Some(why)
  }

  def keepGroups(): Unit = {
    separate = None
    logged.separation = None
  }

  /** Whether the last decision counts on filters of joins above. */
  def filteredAbove: Boolean =
    logged.latest.flatMap(_.input).exists(_.sides.toSeq.exists(_.filtered.above < 1))

  /** Takes note of a planning's decision. */
  def decide(d: JoinDecision, held: Double): Unit = {
    planned = planned.orElse(Some(d.choice.chosen))
    chosen = Some(d.choice.chosen)
    heldBytes = held
    logged.decided(d)
  }
}

/**
 * A join as a planning of adaptive execution decided it.
 *
 * @param stages
 *   the numbers of the stages that had finished: those below it, or all of the plan if the decision counts on filters of joins above
 */
final case class Revised(join: Join, stages: Set[Int]) {

  /**
   * Whether it is this join, and no such stage has finished since. A plan that adaptive execution keeps has copies of
   * the joins above its stages.
   */
  def stands(other: Join, stages: Set[Int]): Boolean = this.stages == stages && join.fastEquals(other)
}

object JoinState {

  /** On a logical join. Joins are never shared between queries, as expressions are. */
  val tag: TreeNodeTag[JoinState] = TreeNodeTag[JoinState]("springbok.join")

  /**
   * On a logical join, the decision that its hint stands for. A physical join is linked to the logical join that it was
   * planned from. So a plan that adaptive execution keeps has its own decisions, and not those of a re-planning that was
   * rejected.
   */
  val decisionTag: TreeNodeTag[JoinDecision] = TreeNodeTag[JoinDecision]("springbok.join.decision")

  def of(j: LogicalPlan): Option[JoinState] = j.getTagValue(tag)

  /** Whether it is a join that no planning has decided about. */
  def isMissing(p: LogicalPlan): Boolean = p.isInstanceOf[Join] && of(p).isEmpty

  def of(p: SparkPlan): Option[JoinState] = p match {
    case j: BaseJoinExec => j.logicalLink.flatMap(l => of(l))
    case _ => None
  }

  /** The decision that led to a physical join. */
  def decision(p: SparkPlan): Option[JoinDecision] = p match {
    case j: BaseJoinExec => j.logicalLink.flatMap(_.getTagValue(decisionTag))
    case _ => None
  }

  /** The state of the first join of a physical plan that has one. */
  def first(plan: SparkPlan): Option[JoinState] =
    plan.collectFirst(Function.unlift((p: SparkPlan) => of(p)))
}
