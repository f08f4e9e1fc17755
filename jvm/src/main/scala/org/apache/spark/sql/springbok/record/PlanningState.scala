package org.apache.spark.sql.springbok.record

import java.lang.ref.WeakReference

import scala.collection.concurrent.TrieMap
import scala.collection.mutable
import scala.util.Try

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Subquery, SubqueryAlias}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{SparkPlan, SQLExecution}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{CurrentDatabase, CurrentExecution, FailureLog, OptimizedPlan}
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * What planning remembers about a query between one planning and the next. Joins carry it as a tag, which survives the
 * re-planning of adaptive execution. A subquery's state is adopted by that of its query, so that filter numbers are unique.
 */
final class PlanningState extends FailureLog {
  @volatile private var parent: Option[PlanningState] = None

  /** The session's current database at the query's first planning. */
  val database: Option[String] =
    Try(SparkSession.active).toOption.flatMap(CurrentDatabase.name)

  private val joinStates = mutable.ArrayBuffer.empty[JoinState]
  private val estimates = new PlanStats.Lasting
  private var handedOver = List.empty[HandedOver]
  private lazy val stored = SparkEnv.get.memoryManager.onHeapStorageMemoryUsed
  private val decided = new Decisions
  private val found = new QueryFilters
  @volatile private var left = Option.empty[Reason]

  private[record] def root: PlanningState = parent.fold(this)(_.root)

  /** What the report shows beside the joins and filters. */
  def decisions: Decisions = root.decided

  def filters: QueryFilters = root.found

  /** Why the whole query is left to Spark. */
  def leftToSpark: Option[Reason] = root.left

  /** Estimates that all plannings of the query share. */
  def lasting: PlanStats.Lasting = root.estimates

  /** A rule hands its estimates of a logical plan to the next rule of the same planning. */
  def handOver(stats: PlanStats, of: LogicalPlan): Unit = root.synchronized {
    root.handedOver = (new HandedOver(stats, of) :: root.handedOver).take(PlanningState.mostHandedOver)
  }

  /**
   * The estimates that were handed over last for this plan, None if there are none. Spark plans a copy of the optimized plan,
   * and subqueries before their query.
   */
  def takeOver(physical: SparkPlan): Option[PlanStats] = root.synchronized {
    for {
      plan <- physical.logicalLink
      (handed, same) <- root.handedOver.iterator
        .flatMap(h => h.of.find(_.fastEquals(plan)).map(h -> _))
        .nextOption()
    } yield {
      root.handedOver = root.handedOver.filterNot(_ eq handed)
      handed.stats.carry(same, plan)
      handed.stats
    }
  }

  private var replacing = Option.empty[Option[String]]

  /** What replaces operators of the query, if anything does. Found out once: it may plan the partitions of connectors. */
  def columnarRule(find: => Option[String]): Option[String] = root.synchronized {
    if (root.replacing.isEmpty) root.replacing = Some(find)
    root.replacing.flatten
  }

  /** Whether tasks run in the driver's JVM. */
  def isLocal: Boolean = SparkSession.active.sparkContext.isLocal

  /**
   * Bytes of the driver's heap that Spark's blocks hold. Asking takes the memory manager's lock, for which all tasks of a local
   * session compete: there it is asked once for each query.
   */
  def storedBytes: Long =
    if (isLocal) root.stored
    else SparkEnv.get.memoryManager.onHeapStorageMemoryUsed

  /** What the planning of a subquery has decided so far becomes part of this query's. */
  def adopt(child: PlanningState): Unit = root.synchronized {
    val from = child.root
    if (from ne root) {
      for (j <- from.joinStates) {
        j.number = root.joinStates.size
        root.joinStates += j
      }
      from.decided.all.foreach(root.decided.add)
      root.handedOver ++= from.handedOver
      from.handedOver = Nil
      from.parent = Some(root)
    }
  }

  /**
   * @param make
   *   the join with this number
   */
  def addJoin(make: Int => JoinState): JoinState = root.synchronized {
    val j = make(root.joinStates.size)
    root.joinStates += j
    j
  }

  def joins: Seq[JoinState] = root.synchronized(root.joinStates.toList)

  /** Bytes of the broadcasts of all joins but this one. */
  def heldBeside(join: JoinState): Double = joins.filter(_ ne join).map(_.strategies.heldBytes).sum

  override def failed(rule: String, e: Throwable): Unit = decisions.failed(rule, e)
}

/** Estimates of a logical plan, on the way from one rule to the next. */
final private class HandedOver(val stats: PlanStats, val of: LogicalPlan)

object PlanningState {

  /** Estimates that wait for their next rule: those of a query and its subqueries. */
  private val mostHandedOver = 16

  /** On a node other than a join that something was decided about. */
  val tag: TreeNodeTag[PlanningState] = TreeNodeTag[PlanningState]("springbok.query")

  /** The state that a single node carries. */
  def on(node: LogicalPlan): Option[PlanningState] =
    JoinState.of(node).map(_.query).orElse(node.getTagValue(tag))

  /**
   * Leaves a query to Spark: its plan carries the state, which says why. The root of a subquery is dropped once it is
   * optimized.
   */
  def leaveToSpark(plan: LogicalPlan, state: PlanningState, why: Reason): Unit = {
    state.root.left = Some(why)
    plan.setTagValue(tag, state)
    plan match {
      case s: Subquery => s.child.setTagValue(tag, state)
      case _ =>
    }
  }

  /** On the inner nodes of a query that Spark is to plan alone, whatever it reads. */
  private val excluded = TreeNodeTag[Reason]("springbok.excluded")

  /**
   * A copy of an analyzed plan, subqueries included, that no rule changes. Leaves are shared with other queries, so they are not
   * marked. Spark keeps an expression whose replacement is equal, so the copy of a subquery has an alias, which Spark removes.
   */
  def exclude(analyzed: LogicalPlan, why: Reason): LogicalPlan = {
    val copy = analyzed
      .transformAllExpressionsWithPruning(_.containsPattern(PLAN_EXPRESSION)) { case s: SubqueryExpression =>
        s.withNewPlan(SubqueryAlias("excluded", exclude(s.plan, why)))
      }
      .clone()
    copy.setAnalyzed()
    copy.foreach(p => if (p.children.nonEmpty) p.setTagValue(excluded, why))
    copy
  }

  /** Why Spark is to plan the query with this plan alone. */
  def whyExcluded(plan: LogicalPlan): Option[Reason] =
    plan.collectFirst(Function.unlift((_: LogicalPlan).getTagValue(excluded)))

  /** Whether Spark is to plan the query with this plan alone. */
  def isExcluded(plan: SparkPlan): Boolean =
    plan.exists(_.logicalLink.exists(_.getTagValue(excluded).isDefined))

  /** Whether the query with this plan is left to Spark. */
  def isLeftToSpark(plan: LogicalPlan): Boolean = leftToSpark(plan).isDefined

  /** The state of a query that is left to Spark. */
  def leftToSpark(plan: LogicalPlan): Option[PlanningState] =
    plan.getTagValue(tag).filter(_.leftToSpark.isDefined)

  /**
   * Whether the logical rules leave the plan alone: Springbok is off, or the query is a stream, left to Spark or excluded, or a
   * correlated subquery, which Spark plans again as a part of its outer query.
   */
  def leavesAlone(plan: LogicalPlan, conf: SQLConf): Boolean =
    !SpringbokConf.plans(conf) || plan.isStreaming || isLeftToSpark(plan) || whyExcluded(
      plan
    ).isDefined || (plan match {
      case s: Subquery => s.correlated
      case _ => false
    })

  /** The plan, which carries the state now: the report shows what failed even if no join is planned. */
  def tagged(plan: LogicalPlan, state: PlanningState): LogicalPlan = {
    plan.setTagValue(tag, state)
    plan
  }

  /** The state that a plan carries. */
  def of(plan: LogicalPlan): Option[PlanningState] = plan.collectFirst(Function.unlift(on))

  /**
   * The state of the whole query: the one that the plan carries or a new one. It adopts those of its subqueries, which Spark
   * optimizes first, each as a query of its own. Some of them have become joins of this plan since. Joins of one query
   * are told apart by their numbers. That a subquery was left to Spark says nothing of its query.
   */
  def adoptQuery(plan: LogicalPlan): PlanningState = {
    val planned =
      plan.collectFirst(Function.unlift((p: LogicalPlan) => on(p).filter(_.leftToSpark.isEmpty)))
    val state = planned.getOrElse(new PlanningState)
    def adopt(p: LogicalPlan): Unit = p.foreach { node =>
      on(node).foreach(state.adopt)
      node.innerChildren.foreach {
        case inner: LogicalPlan => adopt(inner)
        case _ =>
      }
    }
    adopt(plan)
    state
  }
}

/**
 * The queries of the application that run now, by Spark's numbers of their executions, which no two of a JVM share. Their
 * broadcasts share the driver's heap: a server runs those of many users at the same time.
 */
private[springbok] object RunningQueries {

  /** A cached table that an execution fills has a state of its own. */
  final private case class Key(execution: Long, state: Int)

  private val running = TrieMap.empty[Key, WeakReference[PlanningState]]

  /** Takes note of the query that this thread plans, if it is being executed. */
  def planned(sc: SparkContext, query: PlanningState): Unit =
    CurrentExecution.id(sc).foreach(put(_, query))

  /** An execution has started. Its query may have been planned before: servers print the plan first. */
  def started(execution: Long): Unit = for {
    qe <- Option(SQLExecution.getQueryExecution(execution))
    plan <- OptimizedPlan.of(qe)
    state <- PlanningState.of(plan)
  } put(execution, state)

  /** An execution has ended. */
  def ended(execution: Long): Unit =
    running.keysIterator.filter(_.execution == execution).foreach(running.remove(_): Unit)

  private def put(execution: Long, query: PlanningState): Unit =
    running.put(Key(execution, System.identityHashCode(query.root)), new WeakReference(query.root)): Unit

  private[record] def count: Int = running.size

  /** Bytes of the rows that the broadcasts of all queries but this one hold. */
  def heldBeside(query: PlanningState): Double =
    states.filter(_ ne query.root).flatMap(_.joins).map(_.strategies.heldBytes).sum

  private def states: Seq[PlanningState] = {
    // Spark forgets an execution as soon as it has ended.
    for ((key, q) <- running if q.get == null || SQLExecution.getQueryExecution(key.execution) == null)
      running.remove(key, q): Unit
    running.values.flatMap(q => Option(q.get)).map(_.root).toSeq.distinct
  }
}
