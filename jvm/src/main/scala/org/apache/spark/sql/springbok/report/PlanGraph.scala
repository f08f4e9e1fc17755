package org.apache.spark.sql.springbok.report

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.springbok.RuntimeFilterExec

/** Where an operator's rows come from: an operator of the same fragment, or another fragment. */
sealed private[springbok] trait PlanInput
private[springbok] object PlanInput {
  final case class Operator(node: PlanNode) extends PlanInput
  final case class Fragment(id: Int) extends PlanInput
}

/** An operator; `inputs` in the order of the plan's children. */
final private[springbok] class PlanNode(val id: Int, val parent: Option[Int], val plan: SparkPlan) {
  val inputs: mutable.ArrayBuffer[PlanInput] = mutable.ArrayBuffer.empty

  /** Fragments that its expressions read as subqueries. */
  val subqueries: mutable.ArrayBuffer[Int] = mutable.ArrayBuffer.empty
}

/**
 * The operators that run together, as one query stage of adaptive execution.
 *
 * @param kind
 *   where the rows go: shuffle, broadcast, subquery or result
 * @param nodes
 *   a parent stands before its children
 */
final private[springbok] case class PlanFragment(
    id: Int,
    kind: String,
    exchange: Option[Exchange],
    nodes: Seq[PlanNode]
) {
  def inputs: Seq[Int] =
    nodes.flatMap(n => n.inputs.collect { case PlanInput.Fragment(f) => f } ++ n.subqueries).distinct
}

/**
 * A physical plan as fragments between exchanges (Impala's `TPlanFragment`). A fragment stands before its readers. A reused
 * exchange is there once. Operators without a meaning of their own are left out.
 */
final private[springbok] class PlanGraph(root: SparkPlan) {
  private val done = mutable.ArrayBuffer.empty[PlanFragment]
  private val known = new IdentityHashMap[SparkPlan, Integer]()
  private var count = 0

  val fragments: Seq[PlanFragment] = {
    fragment("result", None, root): Unit
    done.toSeq
  }
  val nodes: Seq[PlanNode] = fragments.flatMap(_.nodes)

  /** The fragment of each node. */
  lazy val home: Map[Int, Int] = fragments.flatMap(f => f.nodes.map(_.id -> f.id)).toMap

  /** The operator of the same fragment that a node's rows come from: the first that has no operator below it. */
  def source(n: PlanNode): PlanNode =
    n.inputs.collectFirst { case PlanInput.Operator(below) => below }.fold(n)(source)

  private def fragment(kind: String, exchange: Option[Exchange], top: SparkPlan): Int = {
    val nodes = mutable.ArrayBuffer.empty[PlanNode]
    visit(top, None, nodes): Unit
    done += PlanFragment(done.size, kind, exchange, nodes.toSeq)
    done.size - 1
  }

  private def once(key: SparkPlan)(make: => Int): Int = {
    if (!known.containsKey(key)) {
      val id = make
      known.put(key, id): Unit
    }
    known.get(key)
  }

  private def visit(
      p: SparkPlan,
      parent: Option[PlanNode],
      nodes: mutable.ArrayBuffer[PlanNode]
  ): Unit = p match {
    case a: AdaptiveSparkPlanExec => visit(a.executedPlan, parent, nodes)
    case q: QueryStageExec => visit(q.plan, parent, nodes)
    case c: CommandResultExec => visit(c.commandPhysicalPlan, parent, nodes)
    case r: ReusedExchangeExec => visit(r.child, parent, nodes)
    case _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowExec =>
      visit(p.children.head, parent, nodes)
    case e: Exchange =>
      val kind = if (e.isInstanceOf[BroadcastExchangeLike]) "broadcast" else "shuffle"
      val id = once(e)(fragment(kind, Some(e), e.child))
      // A fragment that only forwards its input has no other operator.
      parent.getOrElse(node(e, None, nodes)).inputs += PlanInput.Fragment(id): Unit
    case _ =>
      val node = this.node(p, parent, nodes)
      parent.foreach(_.inputs += PlanInput.Operator(node))
      val children = p match {
        // The build side of the filter stands under its join.
        case f: RuntimeFilterExec => Seq(f.child)
        case _ => p.children
      }
      children.foreach(visit(_, Some(node), nodes))
      p.expressions.foreach(_.foreach {
        case s: ExecSubqueryExpression => node.subqueries ++= subquery(s.plan)
        case _ =>
      })
  }

  private def node(p: SparkPlan, parent: Option[PlanNode], in: mutable.ArrayBuffer[PlanNode]): PlanNode = {
    val made = new PlanNode(count, parent.map(_.id), p)
    count += 1
    in += made
    made
  }

  private def subquery(p: SparkPlan): Option[Int] = p match {
    case r: ReusedSubqueryExec => subquery(r.child)
    case s: SubqueryExec => Some(once(s)(fragment("subquery", None, s.child)))
    // The pruning of partitions reads a broadcast that a join reads as well.
    case b: SubqueryBroadcastExec => exchange(b.child)
    case _ => None
  }

  private def exchange(p: SparkPlan): Option[Int] = p match {
    case a: AdaptiveSparkPlanExec => exchange(a.executedPlan)
    case q: QueryStageExec => exchange(q.plan)
    case r: ReusedExchangeExec => exchange(r.child)
    case e: Exchange => Some(once(e)(fragment("broadcast", Some(e), e.child)))
    case _ => None
  }
}
