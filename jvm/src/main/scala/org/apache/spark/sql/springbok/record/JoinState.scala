package org.apache.spark.sql.springbok.record

import java.util.concurrent.atomic.AtomicReference

import scala.collection.concurrent.TrieMap

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType}
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.cost.{JoinChoice, JoinInput, Strategy}
import org.apache.spark.sql.springbok.keys.Comparison
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.stats.estimate.Source

/**
 * What planning remembers about a join between one planning of its query and the next. The report reads it as well.
 *
 * @param number
 *   of the join in its query
 * @param userHint
 *   the query's own hint; a hint that Springbok sets is never mistaken for it
 * @param sparkStrategy
 *   the strategy that Spark's planner would choose by the sizes that it knows
 */
final class JoinState(
    val query: PlanningState,
    @volatile private[record] var number: Int,
    val joinType: String,
    texts: => JoinTexts,
    val userHint: JoinHint,
    val sparkStrategy: Option[Strategy]
) {
  lazy val condition: JoinTexts = texts
  def id: Int = number

  private val strategy = new AtomicReference(JoinStrategies())
  private val filter = new AtomicReference(JoinFilters())

  /** How it is executed, as decided so far. */
  def strategies: JoinStrategies = strategy.get

  /** What has been decided about its filters so far. */
  def filters: JoinFilters = filter.get

  /** Replaces what was decided about its strategy in one step. */
  def decide(change: JoinStrategies => JoinStrategies): Unit = strategy.updateAndGet(change(_)): Unit

  /** Replaces what was decided about its filters in one step. */
  def place(change: JoinFilters => JoinFilters): Unit = filter.updateAndGet(change(_)): Unit

  /** Whether nobody has pushed down the keys of this conjunct before. */
  def firstPush(conjunct: Int): Boolean =
    !filter.getAndUpdate(f => f.copy(pushed = f.pushed + conjunct)).pushed(conjunct)

  /** What the first planning decided. */
  def planned: Option[JoinDecision] = strategies.planned

  /** What the last planning decided. */
  def latest: Option[JoinDecision] = strategies.latest

  private val waits = TrieMap.empty[SparkPlan, StageWait]

  /**
   * The wait of scans for the stage of an exchange that its filters come from. A later planning may make them from another
   * one: adaptive execution puts a broadcast above a finished shuffle.
   */
  def stageWait(exchange: SparkPlan): StageWait = waits.getOrElseUpdate(exchange.canonicalized, new StageWait)

  /** Whether scans have waited long enough for one of its filters. */
  def waitIsOver: Boolean = waits.values.exists(_.isOver)

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
}

/**
 * How a join is executed, as its plannings have decided so far.
 *
 * @param planned,
 *   latest what the first and the last planning decided
 * @param revised
 *   the join as the last planning of adaptive execution decided it
 * @param hinted
 *   whether the join's hint is Springbok's. Adaptive execution sets hints of its own, which stay
 * @param heldBytes
 *   bytes of the rows of the broadcast that the join makes; of a shared broadcast, this join's part
 */
final case class JoinStrategies(
    planned: Option[JoinDecision] = None,
    latest: Option[JoinDecision] = None,
    revised: Option[Revised] = None,
    hinted: Boolean = false,
    heldBytes: Double = 0
) {

  /** Whether the last decision counts on filters of joins above. */
  def filteredAbove: Boolean = latest.flatMap(_.input).exists(_.sides.toSeq.exists(_.filtered.above < 1))

  /** With a planning's decision. */
  def decided(d: JoinDecision, held: Double): JoinStrategies =
    copy(planned = planned.orElse(Some(d)), latest = Some(d), heldBytes = held)
}

/**
 * What the physical plannings of a join have decided about its filters so far.
 *
 * @param searched
 *   whether a planning has looked for filters
 * @param source
 *   the side that its first filters were made from. Scans may wait for it
 * @param late
 *   whether it has filters that no scan waits for
 * @param separated
 *   the side whose groups have an exchange of their own, and why
 * @param waits
 *   whether scans wait for the filters of a key, by the conjunct's number
 * @param pushed
 *   the numbers of the conjuncts whose keys have been pushed down to scans
 */
final case class JoinFilters(
    searched: Boolean = false,
    source: Option[JoinSide] = None,
    late: Boolean = false,
    separated: Option[(JoinSide, Reason)] = None,
    waits: Map[Int, ScanWait] = Map.empty,
    pushed: Set[Int] = Set.empty
)

/** The condition of a join: its keys, and the conjuncts that are not equalities of keys. */
final case class JoinTexts(leftKeys: Seq[String], rightKeys: Seq[String], other: Option[String])

/**
 * What one planning decided about a join.
 *
 * @param input
 *   what the choice was made from, None if the join was left to Spark without one
 * @param leftSource,
 *   rightSource where the number of rows of each side comes from
 * @param notes
 *   hints of the query and statistics of its tables that were ignored
 */
final case class JoinDecision(
    choice: JoinChoice,
    input: Option[JoinInput],
    leftSource: Option[Source],
    rightSource: Option[Source],
    notes: Seq[Reason] = Nil
)

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

  /** The join's type in SQL. EXISTS below an OR becomes a join for which SQL has no word. */
  def typeName(t: JoinType): String = t match {
    case _: ExistenceJoin => "EXISTENCE"
    case _ => t.sql
  }

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
