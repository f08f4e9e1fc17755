package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.springbok.{RuntimeFilterExec, SummarizeKeysExec}
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.springbok.catalyst.{PairwiseJoin, Sides}
import org.apache.spark.sql.springbok.keys.{FilterKey, KeyType, TriedKey}
import org.apache.spark.sql.types.{DoubleType, FloatType}

/**
 * Where a filter on a key may go: from an operator to those of its children whose rows may be pruned if their key cannot
 * match, given that a join above removes every row whose key is null or has no match.
 *
 * Conversely, each row above has the key of the one row of that child that it was made of (for a union: a row of one of its
 * children). So the keys above are among the keys of the child, and [[FilterSource]] finds a build side's exchange that way.
 *
 * '''Why that is safe''', operator by operator (all others stop the filter):
 *   - projection, filter, sort, exchange: they take rows one by one. A non-deterministic expression stops the filter,
 *     because its value may depend on the rows that came before.
 *   - union: a row comes from one child; its key is the child's column at the same position.
 *   - aggregate, window, group limit: only if the key is made of grouping or partition expressions that are equal only
 *     if they are identical. Then all rows of a group have the same key, so whole groups are removed, and the join above
 *     would remove them as well. Below such an operator, a filter tests each row by everything that was pushed to the scan,
 *     or a part of a group might be left. A global aggregate has no such key.
 *   - generator, grouping sets: each output row has the columns of its input row; for grouping sets, only the columns that
 *     every set keeps.
 *   - inner join: a missing row of either side only removes result rows with that row's key. If the key is one of the
 *     join's equi-join keys, the other side's column is equal in every result row, so it may be filtered as well.
 *   - left outer, semi, anti, existence join: the left side, because each result row has exactly one left row; a semi join's
 *     right side by an equal key, because such rows only match left rows that are removed. Mirrored for right outer.
 *   - never into the null-generating side of an outer join, nor through limits, samples, user code.
 */
object KeyTrace {

  /** A child that a filter may go to, and the key there. */
  final case class Route(child: Int, key: Expression)

  def routes(plan: SparkPlan, key: Expression): Seq[Route] = plan match {
    case p: ProjectExec if p.projectList.forall(_.deterministic) =>
      through(p.projectList, key).map(Route(0, _)).toSeq
    case f: FilterExec if f.condition.deterministic => down(f.child, 0, key)
    case _: SortExec | _: SummarizeKeysExec | _: RuntimeFilterExec => down(plan.children.head, 0, key)
    case e: ShuffleExchangeExec => down(e.child, 0, key)
    case b: BroadcastExchangeExec => down(b.child, 0, key)
    case u: UnionExec =>
      // Spark computes the output of a union and of a projection anew each time.
      val out = u.output
      u.children.zipWithIndex.flatMap { case (c, i) =>
        val at =
          AttributeMap[Expression](out.zip(c.output).filter { case (a, _) => key.references.contains(a) })
        substitute(key, at.get).map(Route(i, _))
      }
    case agg: BaseAggregateExec
        if agg.groupingExpressions.nonEmpty && agg.resultExpressions.forall(_.deterministic) =>
      val groups = AttributeMap[Expression](agg.groupingExpressions.filter(byValue).map {
        case g @ Alias(from, _) => g.toAttribute -> from
        case g => g.toAttribute -> g
      })
      for {
        inner <- through(agg.resultExpressions, key).toSeq
        from <- substitute(inner, groups.get).toSeq
        route <- down(agg.child, 0, from)
      } yield route
    case w: WindowExec => partitioned(w.partitionSpec, w.child, key)
    case w: WindowGroupLimitExec => partitioned(w.partitionSpec, w.child, key)
    case g: GenerateExec if g.generator.deterministic => down(g.child, 0, key)
    case e: ExpandExec => expanded(e, key)
    case PairwiseJoin(j) => joined(j, key)
    case _ => Nil
  }

  private def down(child: SparkPlan, index: Int, key: Expression): Seq[Route] =
    if (key.references.subsetOf(child.outputSet)) Seq(Route(index, key)) else Nil

  /** The key with its columns replaced by what they are below. None if a column does not exist there or may not be computed. */
  private def substitute(key: Expression, below: Attribute => Option[Expression]): Option[Expression] = {
    val known = key.references.forall(a => below(a).isDefined)
    Option.when(known)(key.transformUp { case a: Attribute => below(a).get }).flatMap(FilterKey.atScan)
  }

  /** The key below a list of output expressions. */
  private[place] def through(list: Seq[NamedExpression], key: Expression): Option[Expression] = {
    val below = AttributeMap[Expression](list.map {
      case a @ Alias(inner, _) => a.toAttribute -> inner
      case x => x.toAttribute -> x
    })
    substitute(key, below.get)
  }

  /** Whether rows that are equal by this expression have the same value of it, so that a group has one key. */
  private def byValue(e: Expression): Boolean = KeyType.supported(e.dataType)

  private def partitioned(by: Seq[Expression], child: SparkPlan, key: Expression): Seq[Route] = {
    val columns = AttributeSet(by.collect { case a: Attribute if byValue(a) => a })
    if (key.references.subsetOf(columns)) down(child, 0, key) else Nil
  }

  /** Grouping sets: only columns that are the same in each copy of the row. */
  private def expanded(e: ExpandExec, key: Expression): Seq[Route] = {
    val same = e.output.zipWithIndex.flatMap { case (a, i) =>
      e.projections.map(_(i)).distinct match {
        case Seq(one: Attribute) => Some(a -> (one: Expression))
        case _ => None
      }
    }
    substitute(key, AttributeMap(same).get).toSeq.flatMap(down(e.child, 0, _))
  }

  private def joined(j: BaseJoinExec, key: Expression): Seq[Route] = {
    val keys: Seq[(Expression, Expression)] = j match {
      case _: HashJoin | _: ShuffledJoin => j.leftKeys.zip(j.rightKeys)
      case _ => Nil
    }
    val into = Sides.filteredFromAbove(j.joinType)
    val equalToo = j.joinType match {
      case _: InnerLike | LeftSemi => true
      case _ => false
    }
    val (left, right) =
      (if (into.left) down(j.left, 0, key) else Nil, if (into.right) down(j.right, 1, key) else Nil)
    // Only a key that is the join key itself, or its hash: a cast of it may have another type.
    def same(joinKey: Expression, key: Expression) =
      FilterKey.of(joinKey).exists(k => k.semanticEquals(TriedKey.untried(key)) && isExact(k))
    def other(joinKey: Expression, child: Int) =
      FilterKey.of(joinKey).flatMap(FilterKey.atScan).map(Route(child, _))
    val equals =
      if (!equalToo) Nil
      else
        keys.flatMap { case (l, r) =>
          if (left.nonEmpty && same(l, key)) other(r, 1)
          else if (right.nonEmpty && same(r, key)) other(l, 0)
          else None
        }
    left ++ right ++ equals
  }

  /** Whether equal canonical forms have equal values: those of sums of floating-point numbers have any order. */
  private def isExact(e: Expression): Boolean = !e.exists {
    case a: BinaryArithmetic => a.dataType == FloatType || a.dataType == DoubleType
    case _ => false
  }

  /** Whether the operator computes something from several rows. They have the same key, or the filter stops there. */
  def groups(plan: SparkPlan): Boolean = plan match {
    case _: BaseAggregateExec | _: WindowExec | _: WindowGroupLimitExec => true
    case _ => false
  }
}
