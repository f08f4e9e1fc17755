package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.springbok.cost.JoinTree

/**
 * Inner joins next to one another, with projections of columns and deterministic filters between them, taken apart.
 *
 * @param items
 *   what is joined, in the order of the query
 * @param conditions
 *   all conjuncts of join conditions and filters
 * @param tree
 *   the order of the query
 * @param hinted
 *   whether a join has a hint
 */
final private[springbok] case class JoinBlock(
    items: IndexedSeq[LogicalPlan],
    conditions: Seq[Expression],
    tree: JoinTree,
    hinted: Boolean
) extends PredicateHelper {

  /** Equal columns: classes of what `a = b` makes equal, also by way of others, as long as the types are the same. */
  lazy val classes: Seq[Seq[Attribute]] = {
    val pairs = conditions.collect {
      case EqualTo(a: Attribute, b: Attribute) if a.dataType == b.dataType && itemOf(a) != itemOf(b) =>
        Seq(a, b)
    }
    pairs.foldLeft(Seq.empty[Seq[Attribute]]) { (known, pair) =>
      val (same, others) = known.partition(_.exists(a => pair.exists(_.semanticEquals(a))))
      others :+ (same.flatten ++ pair).distinctBy(_.exprId)
    }
  }

  /** Equalities between two items that are not of two columns: each is a class of its own. */
  lazy val otherKeys: Seq[(Expression, Expression)] = conditions.collect {
    case EqualTo(l, r)
        if !(l.isInstanceOf[Attribute] && r.isInstanceOf[Attribute] && l.dataType == r.dataType) &&
          single(l) && single(r) && itemOf(l) != itemOf(r) =>
      l -> r
  }

  private def single(e: Expression): Boolean = e.references.nonEmpty && itemOf(e) >= 0

  /** The item that an expression can be evaluated in, -1 if it takes several. */
  def itemOf(e: Expression): Int = items.indexWhere(i => e.references.subsetOf(i.outputSet))

  /**
   * The joins in this order. Every conjunct is kept, at the lowest join that has its columns, but for equalities: of columns
   * that are all equal each join has one between its sides, be it one that follows from the others (a second one would only
   * make the key wider). Columns that are not needed above a join are dropped.
   *
   * @param output
   *   the columns that are needed, in their order
   */
  def build(order: JoinTree, output: Seq[Attribute]): LogicalPlan = {
    val joined = make(order, AttributeSet(output))
    val constant = conditions.filter(_.references.isEmpty)
    val filtered = constant.reduceOption(And).fold(joined)(Filter(_, joined))
    if (filtered.output.map(_.exprId) == output.map(_.exprId)) filtered else Project(output, filtered)
  }

  private def make(order: JoinTree, needed: AttributeSet): LogicalPlan = order match {
    case JoinTree.Leaf(i) =>
      val own = conditions.filter(c => c.references.nonEmpty && itemOf(c) == i)
      own.reduceOption(And).fold(items(i))(Filter(_, items(i)))
    case JoinTree.Node(l, r) =>
      val (left, right) = (columns(l.set), columns(r.set))
      val both = left ++ right
      val here = conditions.filter { c =>
        c.references.subsetOf(both) && !c.references.subsetOf(left) && !c.references.subsetOf(right)
      }
      val (same, others) = here.partition(c => simple.exists(equates(_, c)))
      val keys = simple.flatMap(c => same.find(equates(c, _)).orElse(equality(c, left, right)))
      val keyed = keys.nonEmpty || others.exists {
        case EqualTo(a, b) => a.references.nonEmpty && b.references.nonEmpty
        case _ => false
      }
      val condition = if (keyed) keys ++ others else classes.flatMap(equality(_, left, right)) ++ others
      val below = needed ++ AttributeSet.fromAttributeSets(condition.map(_.references))
      Join(
        pruned(make(l, below), below),
        pruned(make(r, below), below),
        Inner,
        condition.reduceOption(And),
        JoinHint.NONE
      )
  }

  /** Classes of which no item has two columns: one equality between two sides that each have equal ones makes all equal. */
  private lazy val simple = classes.filter(c => c.map(itemOf).distinct.size == c.size)

  private def equates(c: Seq[Attribute], e: Expression): Boolean = e match {
    case EqualTo(a: Attribute, b: Attribute) =>
      Seq(a, b).forall(x => c.exists(_.semanticEquals(x))) && itemOf(a) != itemOf(b)
    case _ => false
  }

  private def equality(c: Seq[Attribute], left: AttributeSet, right: AttributeSet): Option[Expression] =
    for (a <- c.find(left.contains); b <- c.find(right.contains)) yield EqualTo(a, b)

  private def columns(set: Long): AttributeSet =
    AttributeSet(items.indices.filter(i => (set >> i & 1) != 0).flatMap(items(_).output))

  private def pruned(p: LogicalPlan, needed: AttributeSet): LogicalPlan =
    if (p.outputSet.subsetOf(needed)) p else Project(p.output.filter(needed.contains), p)
}

private[springbok] object JoinBlock extends PredicateHelper {

  /** The joins at the top of a plan, if there are at least three relations. */
  def unapply(plan: LogicalPlan): Option[JoinBlock] = Option
    .when(root(plan))(flatten(plan, 0))
    .filter(_.items.size > 2)

  private def root(plan: LogicalPlan): Boolean = plan match {
    case Join(_, _, _: InnerLike, condition, _) => condition.forall(_.deterministic)
    case _ => false
  }

  private def flatten(plan: LogicalPlan, first: Int): JoinBlock = plan match {
    case j @ Join(l, r, _: InnerLike, condition, hint) if root(j) =>
      val left = flatten(l, first)
      val right = flatten(r, first + left.items.size)
      JoinBlock(
        left.items ++ right.items,
        left.conditions ++ right.conditions ++ condition.toSeq.flatMap(splitConjunctivePredicates),
        JoinTree.Node(left.tree, right.tree),
        left.hinted || right.hinted || hint != JoinHint.NONE
      )
    case Project(list, child) if list.forall(_.isInstanceOf[Attribute]) && inside(child) =>
      flatten(child, first)
    case Filter(condition, child) if condition.deterministic && inside(child) =>
      val below = flatten(child, first)
      below.copy(conditions = below.conditions ++ splitConjunctivePredicates(condition))
    case _ => JoinBlock(IndexedSeq(plan), Nil, JoinTree.Leaf(first), hinted = false)
  }

  private def inside(plan: LogicalPlan): Boolean = plan match {
    case Project(list, child) => list.forall(_.isInstanceOf[Attribute]) && inside(child)
    case Filter(condition, child) => condition.deterministic && inside(child)
    case _ => root(plan)
  }

  /** The same plan with other items. */
  def replaceItems(plan: LogicalPlan, replace: LogicalPlan => LogicalPlan): LogicalPlan = plan match {
    case _: Join if root(plan) => plan.mapChildren(replaceItems(_, replace))
    case (_: Project | _: Filter) if inside(plan) => plan.mapChildren(replaceItems(_, replace))
    case item => replace(item)
  }
}
