package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Filter => FilterRows, _}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.springbok.catalyst.{ColumnTrace, Sides}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.cost.{CostConstants, Filtered}
import org.apache.spark.sql.springbok.stats.estimate.{KeyDomain, WidenedColumn}

/**
 * What the runtime filters of the joins above an operator are expected to remove at scans below it.
 *
 * {{{
 *   Join movie_id = movie_id
 *   :- Join person_id = id          <- so few rows come here that its left side is the one to build
 *   :  :- cast_info                 <- the filter from the upper join removes rows here
 *   :  +- name
 *   +- title, filtered
 * }}}
 *
 * Only the rows that are expected change, and with them the costs. Memory limits count the same rows as before.
 */
final private[joins] class FiltersAbove private (found: => Seq[FiltersAbove.Reduction]) {
  import FiltersAbove._

  private lazy val reductions = found

  /** What reaches the child of an operator: the filters from above, and the own ones of a join. */
  def into(p: LogicalPlan, child: Int, planning: => JoinPlanning): FiltersAbove =
    new FiltersAbove(passed(p, child, reductions) ++ own(p, child, planning))

  /**
   * The fraction of the rows of each side of a join that these filters retain. It is never taken to be less than
   * [[Filtered.leastRetained]].
   */
  def retained(j: Join, planning: JoinPlanning): Sides[Double] =
    // Copies of a join share their exchanges if they have the same strategy, and no filter goes into those.
    if (reductions.isEmpty || planning.isRepeated(j)) Sides(1.0, 1.0)
    else
      Sides.each { s =>
        val side = j.children(s.index)
        val here = passed(j, s.index, reductions).filter(r => reachesScan(side, r.column))
        val kept = math.max(Filtered.leastRetained, here.map(_.retained).product)
        def pays = ForgoneFilter.pays(side, Filtered(kept), planning, CostConstants.undecidedNs)
        if (kept < 1 && pays) kept else 1.0
      }
}

private[joins] object FiltersAbove {

  /** There is nothing above the root of a plan. */
  val none: FiltersAbove = new FiltersAbove(Nil)

  /** A filter on a column, with the fraction of the rows that it retains. */
  final case class Reduction(column: Attribute, retained: Double)

  /** A join's own filters on one of its sides. Of filters on several keys the best one counts: they remove the same rows. */
  private def own(p: LogicalPlan, child: Int, planning: => JoinPlanning): Seq[Reduction] = p match {
    case ExtractEquiJoinKeys(_: InnerLike | LeftSemi, leftKeys, rightKeys, _, _, _, _, _)
        if planning.filtersScans =>
      val (mine, other) = (planning.stats(p.children(child)), planning.stats(p.children(1 - child)))
      val keys = if (child == 0) leftKeys.zip(rightKeys) else rightKeys.zip(leftKeys)
      // The larger side is filtered. Bytes of a finished broadcast are whole pages.
      val smaller = mine.rows.exists(m => other.rows.exists(_.value < m.value))
      val all = for {
        (WidenedColumn(column), from) <- keys if smaller
        retained <- KeyDomain.retained(column, from, mine, other)
        if retained <= 1 - planning.conf.getConf(FilterConf.MIN_REJECTION)
      } yield Reduction(column, retained)
      all.minByOption(_.retained).toSeq
    case _ => Nil
  }

  /** The filters that go on to a child: `KeyTrace` says why the others stop. */
  def passed(p: LogicalPlan, child: Int, all: Seq[Reduction]): Seq[Reduction] =
    if (all.isEmpty) Nil
    else {
      val equal = equalColumns(p, child)
      all.flatMap { r =>
        if (passes(p, child, r.column)) Some(r)
        else equal.collectFirst { case (from, to) if from.exprId == r.column.exprId => r.copy(column = to) }
      }
    }

  /** Columns of a join's other side, each with the column of this side that equals it in all result rows. */
  private def equalColumns(p: LogicalPlan, child: Int): Seq[(Attribute, Attribute)] = p match {
    case ExtractEquiJoinKeys(_: InnerLike | LeftSemi, leftKeys, rightKeys, _, _, _, _, _) =>
      val keys = if (child == 0) rightKeys.zip(leftKeys) else leftKeys.zip(rightKeys)
      keys.collect { case (from: Attribute, to: Attribute) => from -> to }
    case _ => Nil
  }

  private def passes(p: LogicalPlan, child: Int, column: Attribute): Boolean =
    ColumnTrace.passes(p, child, column) && (p match {
      case FilterRows(condition, _) => !filteredBySpark(condition, column)
      case _ => true
    })

  /** Whether the estimate of a scan has Spark's own filter on the column: as dynamic pruning or a bloom filter. */
  private def filteredBySpark(condition: Expression, column: Attribute): Boolean = condition.exists {
    case e @ (_: DynamicPruning | _: BloomFilterMightContain) => e.references.contains(column)
    case _ => false
  }

  /**
   * Whether a filter on the column reaches a scan that has not started. Of two sides with equal columns neither may have been
   * read: rows that a filter has removed from one of them are missing in the estimate of the join.
   */
  def reachesScan(p: LogicalPlan, column: Attribute): Boolean = p match {
    case _: LogicalQueryStage => false
    case _: LogicalRelation | _: DataSourceV2ScanRelation => p.outputSet.contains(column)
    case _ =>
      p.children.indices.exists { i =>
        passes(p, i, column) && reachesScan(p.children(i), column) && equalColumns(p, 1 - i).forall {
          case (from, to) => from.exprId != column.exprId || reachesScan(p.children(1 - i), to)
        }
      }
  }
}
