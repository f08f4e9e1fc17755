package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.springbok.cost.{JoinGraph, JoinTree}
import org.apache.spark.sql.springbok.record.{JoinState, RelationHint}

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
 *   whether a join has a hint, other than of the order
 * @param planned
 *   whether the strategy of a join was chosen before
 * @param places
 *   the places of items that the query wants to be joined first
 */
final private[springbok] case class JoinBlock(
    items: IndexedSeq[LogicalPlan],
    conditions: Seq[Expression],
    tree: JoinTree,
    hinted: Boolean = false,
    planned: Boolean = false,
    places: Map[Int, Int] = Map.empty
) extends PredicateHelper {

  /** The order that the query's hint asks for: the others follow as the query has them, but none before a key joins it. */
  def asked: JoinTree = {
    val (first, others) = items.indices.partition(places.contains)
    def joined(i: Int, before: Set[Int]) = keys.exists(k => k.contains(i) && k.keys.exists(before))
    def order(done: Vector[Int], left: Seq[Int]): Seq[Int] =
      if (left.isEmpty) done
      else {
        val next = left.find(joined(_, done.toSet)).getOrElse(left.head)
        order(done :+ next, left.filterNot(_ == next))
      }
    order(first.sortBy(places).toVector, others)
      .map(JoinTree.Leaf(_): JoinTree)
      .reduceLeft(JoinTree.Node(_, _))
  }

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

  /** Whether each conjunct names columns of the items, and each column belongs to one item alone. */
  private def isClear: Boolean = {
    val output = items.flatMap(_.output)
    val columns = AttributeSet(output)
    columns.size == output.size && conditions.forall(_.references.subsetOf(columns))
  }

  /** Equalities between two items that are not of two columns: each is a class of its own. */
  lazy val otherKeys: Seq[(Expression, Expression)] = conditions.collect {
    case EqualTo(l, r)
        if !(l.isInstanceOf[Attribute] && r.isInstanceOf[Attribute] && l.dataType == r.dataType) &&
          single(l) && single(r) && itemOf(l) != itemOf(r) =>
      l -> r
  }

  /** Classes of expressions that are equal, each with the items that have one. */
  lazy val keys: IndexedSeq[Map[Int, Expression]] = {
    val columns = classes.map(_.map(a => itemOf(a) -> (a: Expression)).toMap)
    val others = otherKeys.map { case (l, r) => Map(itemOf(l) -> l, itemOf(r) -> r) }
    (columns ++ others).toIndexedSeq
  }

  private def single(e: Expression): Boolean = e.references.nonEmpty && itemOf(e) >= 0

  /** The item that an expression can be evaluated in, -1 if it takes several. */
  def itemOf(e: Expression): Int = items.indexWhere(i => e.references.subsetOf(i.outputSet))

  /**
   * The joins in this order. Every conjunct is kept, at the lowest join that has its columns. Equalities of columns are the
   * exception: each join has one per class of equal columns. It may be one that follows from the query's own, and a second
   * one would only widen the key. Columns that are not needed above a join are dropped. Spark has normalized NaN and -0.0 in
   * the keys of the query's joins. Other conjuncts may be keys now, so their values are normalized here.
   *
   * @param output
   *   the columns that are needed, in their order
   */
  def build(order: JoinTree, output: Seq[Attribute]): LogicalPlan = {
    val joined = NormalizeFloatingNumbers(make(order, AttributeSet(output)))
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
        case EqualTo(a, b) => isOf(a, left) && isOf(b, right) || isOf(a, right) && isOf(b, left)
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

  private def isOf(e: Expression, side: AttributeSet): Boolean =
    e.references.nonEmpty && e.references.subsetOf(side)

  private def columns(set: Long): AttributeSet =
    AttributeSet(JoinGraph.members(set).flatMap(items(_).output).toSeq)

  private def pruned(p: LogicalPlan, needed: AttributeSet): LogicalPlan =
    if (p.outputSet.subsetOf(needed)) p else Project(p.output.filter(needed.contains), p)
}

private[springbok] object JoinBlock extends PredicateHelper {

  /**
   * The joins at the top of a plan, if there are at least three relations. Joins whose strategy was chosen have been here
   * before.
   *
   * @param whole
   *   joins below the topmost one that are not taken apart
   */
  def of(plan: LogicalPlan, whole: Join => Boolean): Option[JoinBlock] = plan match {
    case Inners(j) =>
      Option(new Flattened(whole).top(j)).filter(b => b.items.size > 2 && !b.planned && b.isClear)
    case _ => None
  }

  /** An inner join with a condition that may be evaluated in any order. */
  private object Inners {
    def unapply(plan: LogicalPlan): Option[Join] = plan match {
      case j @ Join(_, _, _: InnerLike, condition, _) if condition.forall(_.deterministic) => Some(j)
      case _ => None
    }
  }

  final private class Flattened(whole: Join => Boolean) {
    def top(j: Join): JoinBlock = joined(j, 0)

    private def joined(j: Join, first: Int): JoinBlock = {
      val left = flatten(j.left, first)
      val right = flatten(j.right, first + left.items.size)
      val sides = j.hint.leftHint.map(left -> _) ++ j.hint.rightHint.map(right -> _)
      JoinBlock(
        left.items ++ right.items,
        left.conditions ++ right.conditions ++ j.condition.toSeq.flatMap(splitConjunctivePredicates),
        JoinTree.Node(left.tree, right.tree),
        left.hinted || right.hinted || sides.exists { case (_, h) => RelationHint.onlyPlace(h).isEmpty },
        left.planned || right.planned || JoinState.of(j).isDefined,
        sides.flatMap { case (b, h) => placed(b, h) }.toMap ++ left.places ++ right.places
      )
    }

    /** A hint of a relation that is itself a join is one of all its items. */
    private def placed(side: JoinBlock, hint: HintInfo): Seq[(Int, Int)] =
      RelationHint.onlyPlace(hint).toSeq.flatMap(place => JoinGraph.members(side.tree.set).map(_ -> place))

    private def flatten(plan: LogicalPlan, first: Int): JoinBlock = plan match {
      case _ if !inside(plan) => JoinBlock(IndexedSeq(plan), Nil, JoinTree.Leaf(first))
      case Filter(condition, child) =>
        val below = flatten(child, first)
        below.copy(conditions = below.conditions ++ splitConjunctivePredicates(condition))
      case j: Join => joined(j, first)
      case _ => flatten(plan.children.head, first)
    }

    private def inside(plan: LogicalPlan): Boolean = plan match {
      case Project(list, child) => list.forall(_.isInstanceOf[Attribute]) && inside(child)
      case Filter(condition, child) => condition.deterministic && inside(child)
      case Inners(j) => !whole(j)
      case _ => false
    }
  }

  /** The same plan with other items. */
  def replaceItems(plan: LogicalPlan, items: Seq[LogicalPlan], replaced: Seq[LogicalPlan]): LogicalPlan =
    items.indexWhere(_ eq plan) match {
      case -1 => plan.mapChildren(replaceItems(_, items, replaced))
      case i => replaced(i)
    }
}
