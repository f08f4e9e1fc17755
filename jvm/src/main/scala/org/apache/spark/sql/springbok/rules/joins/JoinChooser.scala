package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.optimizer.{BuildRight, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.{ExtractEquiJoinKeys, ExtractSingleColumnNullAwareAntiJoin}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.{CurrentOrigin, TreeNodeTag}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.springbok.catalyst.{DeferredErrors, ExpressionLabel, Sides}
import org.apache.spark.sql.springbok.conf.JoinConf
import org.apache.spark.sql.springbok.cost.{
  ChoicePolicy,
  Constraint,
  Distribution,
  JoinChoice,
  JoinInput,
  Side,
  Strategy
}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{JoinDecision, JoinState, PlanningState, RunningQueries}
import org.apache.spark.sql.springbok.stats.estimate.Source

/** Decides the joins of one plan, one after the other from the leaves up. */
final private[joins] class JoinChooser(private val planning: JoinPlanning) {
  import JoinChooser.streamed

  private val conf = planning.conf
  private val policy = ChoicePolicy.of(conf)
  private val budget = new BroadcastBudget(planning)

  /** The join with the first decision about it. */
  def choose(j: Join, above: FiltersAbove, query: PlanningState): Join = {
    budget.startDeciding(j)
    revise(j, above, JoinStates.add(j, query))
  }

  /** The join as decided anew after a stage has finished. */
  def revise(j: Join, above: FiltersAbove, state: JoinState): Join = {
    val decision = decide(j, above, state)
    val held = budget.held(j, state, decision)
    state.decide(_.decided(decision, held))
    ApplyHint(j, state, decision.choice.chosen, Some(decision))
  }

  private def decide(j: Join, above: FiltersAbove, state: JoinState): JoinDecision = {
    val hints =
      if (state.userHint == JoinHint.NONE) UserHints.none
      else UserHints.of(state.userHint, PossibleStrategies.hints(j))
    constraint(j, state, hints) match {
      case Some(by) =>
        val notes = by match {
          case _: Constraint.UserHint => hints.notes
          case _ => Nil
        }
        JoinDecision(JoinChoice.spark(by), None, None, None, notes)
      case None => byCost(j, above, state, hints)
    }
  }

  /** What leaves the join to Spark before any cost is compared. */
  private def constraint(j: Join, state: JoinState, hints: UserHints): Option[Constraint] =
    if (!conf.getConf(JoinConf.ENABLED)) Some(Constraint.ChoiceDisabled)
    else if (OpenFile.isRead(j)) Some(Constraint.ReadsOpenFile)
    else if (isOfExtension(j)) Some(Constraint.ConditionOfExtension)
    else if (FewTasks.isReadByFew(j) && !policy.ignoresCost) Some(Constraint.ReadByFewTasks)
    else
      hints.followed
        .map(Constraint.UserHint(_))
        .orElse(Option.when(!hints.shuffles && feedsPruning(j, state))(Constraint.FeedsPartitionPruning))

  /**
   * Whether the condition of a join without equalities has an expression of another extension. That extension may have a
   * join of its own for it, and may read hints: a BROADCAST hint makes Sedona broadcast a spatial index.
   */
  private def isOfExtension(j: Join): Boolean =
    ExtractEquiJoinKeys.unapply(j).isEmpty && j.condition.exists(_.exists { e =>
      !e.getClass.getName.startsWith("org.apache.spark.sql.catalyst.")
    })

  // The scan that is pruned may be part of a stage by now, and its expressions out of sight.
  private def feedsPruning(j: Join, state: JoinState): Boolean =
    state.planned.exists(_.choice.constraint.contains(Constraint.FeedsPartitionPruning)) ||
      !policy.ignoresCost && planning.feedsPruning(j)

  private def byCost(j: Join, above: FiltersAbove, state: JoinState, hints: UserHints): JoinDecision = {
    val facts = JoinFacts.of(j, above.retained(j, planning), planning)
    val broadcast = facts.limits.broadcast.copy(held = budget.heldByOthers(state))
    val input = facts.copy(
      limits = facts.limits.copy(broadcast = broadcast),
      wishes = facts.wishes.copy(shuffle = hints.shuffles)
    )
    val cheapest = policy.strategy(input, state.id, revised = state.planned.nonEmpty)
    val notes = hints.notes ++ ignoredStatistics(j) ++ filteredAbove(facts.sides) ++ Strategy
      .build(cheapest.chosen)
      .map(input.sides(_).broadcast.sharedBy)
      .filter(_ > 1 && cheapest.distribution.contains(Distribution.Broadcast))
      .map(Reason.broadcastShared)
    val choice = j match {
      case ExtractEquiJoinKeys(_, _, _, _, _, _, _, _) => cheapest
      case ExtractSingleColumnNullAwareAntiJoin(_, _) =>
        cheapest.constrained(Constraint.NullAwareAntiJoin, Strategy.Broadcast(BuildRight))
      case _ => cheapest
    }
    val safe = if (policy.ignoresCost) choice else deferringErrors(j, state, choice, input)
    JoinDecision(safe, Some(input), source(j.left), source(j.right), notes)
  }

  /**
   * Spark's own broadcast, where an expression might raise an error in any other join because it sees more rows there. A
   * broadcast that may not fit into memory is not kept for that.
   */
  private def deferringErrors(j: Join, state: JoinState, c: JoinChoice, in: JoinInput): JoinChoice = {
    def fits(own: Strategy) = c.alternatives.exists(a => a.strategy == own && a.ruledOut.isEmpty)
    val kept = for {
      own <- state.sparkStrategy if own != c.chosen && fits(own)
      streamed <- streamed(j, own)
      e <- DeferredErrors.in(streamed, DeferredErrors.references(j))(streamedBelow)
    } yield c
      .constrained(Constraint.RaisesEarlier(ExpressionLabel(e)), own)
      .copy(distribution = Distribution.of(own, in.sides))
    kept.getOrElse(c)
  }

  private def streamedBelow(j: Join): Seq[LogicalPlan] =
    (for {
      state <- JoinState.of(j)
      strategy <- state.latest.map(_.choice.chosen).filter(_ != Strategy.Spark).orElse(state.sparkStrategy)
      side <- streamed(j, strategy)
    } yield side).toSeq

  private def filteredAbove(sides: Sides[Side]): Seq[Reason] =
    Seq("left" -> sides.left, "right" -> sides.right).collect {
      case (name, s) if s.filtered.above < 1 => Reason.filteredAbove(s.filtered.above, name)
    }

  /** Where the row count of a side comes from. */
  private def source(side: LogicalPlan): Option[Source] = planning.stats(side).rows.map(_.source)

  /** What was ignored of the statistics of the tables that meet in this join, and in none below it. */
  private def ignoredStatistics(j: Join): Seq[Reason] = {
    def tables(p: LogicalPlan): Seq[LogicalRelation] = p match {
      case _: Join => Nil
      case r: LogicalRelation => Seq(r)
      case other => other.children.flatMap(tables)
    }
    j.children.flatMap(tables).flatMap(planning.stats.ignored).distinct
  }
}

private[joins] object JoinChooser {

  /** Whether a side of the join is being broadcast, or has been: nothing is left to decide. */
  def hasStarted(j: Join): Boolean = j.children.exists(PredictedPartitioning.broadcastStage)

  /** The streamed side of a broadcast join, None for other joins. */
  def streamed(j: Join, by: Strategy): Option[LogicalPlan] = by match {
    case _: Strategy.Broadcast | _: Strategy.NestedLoop =>
      Strategy.build(by).map(Sides(j.left, j.right).swapped(_))
    case _ => None
  }

  /**
   * Decides joins of a plan from the leaves up, and hands the estimates over to the next rule.
   *
   * @param decided
   *   a join as it is decided, or the very join. Asks for the chooser only if it is to be decided
   */
  def decide(plan: LogicalPlan, query: PlanningState)(
      decided: (Join, FiltersAbove, () => JoinChooser) => Join
  ): LogicalPlan = {
    var asked = Option.empty[JoinChooser]
    def chooser(): JoinChooser = {
      if (asked.isEmpty) asked = Some(of(plan, query))
      asked.get
    }
    def down(p: LogicalPlan, above: FiltersAbove): LogicalPlan = {
      val children = p.children.zipWithIndex.map { case (c, i) =>
        down(c, above.into(p, i, chooser().planning))
      }
      val made = p.withNewChildren(children)
      asked.foreach(_.planning.stats.carryOne(p, made))
      made match {
        case j: Join =>
          val d = CurrentOrigin.withOrigin(j.origin)(decided(j, above, () => chooser()))
          // A hint does not change the rows.
          asked.foreach(_.planning.stats.carryOne(j, d))
          d
        case other => other
      }
    }
    val made = down(plan, FiltersAbove.none)
    asked.foreach(c => query.handOver(c.planning.stats, made))
    made
  }

  /** Marks what the joins' parents need, and makes ready for the decisions of one planning. */
  private def of(plan: LogicalPlan, query: PlanningState): JoinChooser = {
    val planning = new JoinPlanning(plan, query)
    RunningQueries.planned(SparkSession.active.sparkContext, query)
    planning.stats.readKeys(plan)
    NeededOrder.mark(plan)
    FewTasks.mark(plan, planning.cluster.cores)
    new JoinChooser(planning)
  }
}

/**
 * Joins whose result is read by few tasks, for example after `coalesce(1)`. Without a shuffle in between, those tasks compute
 * the join as well. A broadcast would take away the shuffle that lets the whole cluster read the probe side.
 */
private[springbok] object FewTasks {
  private val tag = TreeNodeTag[Unit]("springbok.fewTasks")

  def isReadByFew(j: Join): Boolean = j.getTagValue(tag).isDefined

  /** Tags such joins of the plan. */
  def mark(plan: LogicalPlan, cores: Int): Unit = plan.foreach {
    case Repartition(n, false, child) if n < cores => within(child)
    case _ =>
  }

  /** Down to what has a shuffle of its own. */
  private def within(p: LogicalPlan): Unit = p match {
    case j: Join =>
      j.setTagValue(tag, ())
      j.children.foreach(within)
    case _: Project | _: Filter | _: SubqueryAlias | _: Generate | _: Union | _: LocalLimit |
        _: ResolvedHint =>
      p.children.foreach(within)
    case r: Repartition if !r.shuffle => within(r.child)
    case _ =>
  }
}

/** Bytes in memory of the rows that broadcasts hold. Those of all queries that run share the driver's heap. */
final private[joins] class BroadcastBudget(planning: JoinPlanning) extends JoinSelectionHelper {

  /** Bytes of the relations that Spark would make anyway for the joins that are still to be decided. */
  private var undecided = planning.plan.collect {
    case j: Join if JoinState.isMissing(j) => bySpark(j)
  }.sum

  /** Takes a join off the undecided ones. */
  def startDeciding(j: Join): Unit = undecided -= bySpark(j)

  /** Bytes that the query's other joins hold. */
  def heldByOthers(state: JoinState): Double = state.query.heldBeside(state) + undecided

  /** Bytes that the join holds as decided. A broadcast that several joins share is counted in parts. */
  def held(j: Join, state: JoinState, d: JoinDecision): Double = d.input match {
    case Some(in) if d.choice.distribution.contains(Distribution.Broadcast) =>
      val build = in.sides(Strategy.build(d.choice.chosen).get)
      val table = build.size.boundTable
      // A nested loop's rows are not put into a hash table and take no page.
      (if (in.capabilities.equi) relation(table) else table.getOrElse(0.0)) / build.broadcast.sharedBy
    case _ if d.choice.chosen == Strategy.Spark => hinted(j, state).getOrElse(bySpark(j))
    case _ => 0
  }

  /** A side that a hint broadcasts is counted as expected: its bound may be beyond all memory. */
  private def hinted(j: Join, state: JoinState): Option[Double] =
    Seq(j.left -> state.userHint.leftHint, j.right -> state.userHint.rightHint).collect {
      case (p, Some(h)) if h.strategy.contains(BROADCAST) => relation(planning.stats(p).bytes)
    }.minOption

  private def relation(rowBytes: Option[Double]): Double =
    math.max(rowBytes.getOrElse(0.0), planning.cluster.leastRelation)

  /** Bytes of the relation that Spark itself would make for a join, 0 for none. */
  private def bySpark(j: Join): Double = j match {
    case ExtractEquiJoinKeys(_, lk, rk, _, _, _, _, _) =>
      val buildable = Seq(
        (j.left, lk, canBuildBroadcastLeft(j.joinType)),
        (j.right, rk, canBuildBroadcastRight(j.joinType))
      )
      buildable
        .collect { case (p, keys, true) if planning.smallForSpark(p) => planning.sharing(p, keys) }
        .maxOption
        .fold(0.0)(planning.cluster.leastRelation / _)
    case _ => 0
  }
}
