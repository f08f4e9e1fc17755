package org.apache.spark.sql.springbok.stats

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.types._

/**
 * Rows, bytes and columns of logical plans: from finished stages, the catalog, footers, and Impala's formulas above
 * them. Remembers what it was asked, so one instance serves one planning.
 */
final class PlanStats extends PredicateHelper {
  private val known = new IdentityHashMap[LogicalPlan, Estimate]()
  private val seen = new IdentityHashMap[HadoopFsRelation, Option[ParquetFooters.Table]]()

  def apply(plan: LogicalPlan): Estimate = {
    val before = known.get(plan)
    if (before != null) before
    else {
      val e = compute(plan)
      known.put(plan, e)
      e
    }
  }

  /** Footers of a relation, read once. */
  def footers(relation: HadoopFsRelation): Option[ParquetFooters.Table] =
    seen.computeIfAbsent(relation, r => ParquetFooters.read(r))

  private def compute(plan: LogicalPlan): Estimate = plan match {
    case s: LogicalQueryStage if s.isMaterialized => stage(s)
    case s: LogicalQueryStage => running(s)
    case r @ LogicalRelation(fs: HadoopFsRelation, _, table, _, _) =>
      relation(r, fs, table.flatMap(_.stats))
    case l: LocalRelation =>
      val n = l.data.size.toDouble
      Estimate(Some(Rows(n, n, Source.Runtime)), Estimate.rowBytes(l.output), AttributeMap.empty)
    case r: Range =>
      val n = r.numElements.toDouble
      Estimate(Some(Rows(n, n, Source.Analyzed)), Estimate.rowBytes(r.output), AttributeMap.empty)
    case Filter(condition, child) =>
      val c = apply(child)
      val (expected, bound) = Selectivity.of(splitConjunctivePredicates(condition), c.columns)
      c.copy(rows = c.rows.map(r => Rows(r.value * expected, r.bound * bound, Source.Estimated)))
    case Project(list, child) => project(list, apply(child), plan.output)
    case Aggregate(grouping, list, child, _) => aggregate(grouping, list, apply(child), plan.output)
    case j: Join => join(j)
    case u: Union => union(u)
    case Distinct(child) => apply(child)
    case GlobalLimit(IntegerLiteral(n), child) => limit(n.toDouble, apply(child))
    case LocalLimit(IntegerLiteral(n), child) => limit(n.toDouble, apply(child))
    case w: Window => apply(w.child).copy(rowBytes = Estimate.rowBytes(w.output))
    case _: Sort | _: SubqueryAlias | _: RepartitionOperation | _: ResolvedHint | _: ReturnAnswer |
        _: WindowGroupLimit | _: RebalancePartitions =>
      apply(plan.children.head)
    case _ => Estimate.unknown(plan.output)
  }

  private def stage(s: LogicalQueryStage): Estimate = {
    val stats = s.stats
    // The columns are those of the tables below: a finished stage keeps their ranges.
    val below = apply(s.logicalPlan)
    stats.rowCount match {
      case Some(n) =>
        val rows = Rows(n.toDouble, n.toDouble, Source.Runtime)
        val width = if (n > 0) stats.sizeInBytes.toDouble / n.toDouble else below.rowBytes
        Estimate(Some(rows), math.max(8, width), below.columns)
      case None => below
    }
  }

  /** A stage that has not finished: as its logical plan, less what the runtime filters in it are expected to remove. */
  private def running(s: LogicalQueryStage): Estimate = {
    val filters = s.physicalPlan match {
      case q: QueryStageExec =>
        q.plan.collect { case f: AppliedRuntimeFilterExec if f.info != null => f.info.record }
      case _ => Nil
    }
    val kept = filters.flatMap(_.kept).product
    val e = apply(s.logicalPlan)
    e.copy(rows = e.rows.map(r => r.copy(value = r.value * kept, source = Source.Estimated)))
  }

  private def relation(
      r: LogicalRelation,
      fs: HadoopFsRelation,
      catalog: Option[CatalogStatistics]
  ): Estimate = {
    val footer = footers(fs)
    val analyzed = catalog.flatMap(_.rowCount).map(_.toDouble)
    val rows = analyzed
      .map(n => Rows(n, n, Source.Analyzed))
      .orElse(footer.map(t => Rows(t.rows, t.rows, Source.Footer)))
    val columns = for (n <- rows.toSeq; a <- r.output) yield {
      val column = catalog.flatMap(_.colStats.get(a.name))
      val range = footer.flatMap(_.range(a.name))
      // The distinct values of a whole-numbered column are bounded by its range, of any by the rows.
      val domain = range.filter(_ => countable(a.dataType)).map(x => x.max - x.min + 1)
      val counted = column.flatMap(_.distinctCount).map(_.toDouble)
      val ndv = counted.orElse(domain.map(math.min(_, n.value)))
      val tight = counted.isDefined || domain.exists(_ < n.value * 0.9)
      a -> ColumnStats(ndv, tight, range.map(_.min), range.map(_.max), n.value)
    }
    Estimate(rows, Estimate.rowBytes(r.output), AttributeMap(columns))
  }

  private def countable(t: DataType): Boolean = t match {
    case _: IntegralType | DateType => true
    case _ => false
  }

  private def project(list: Seq[NamedExpression], child: Estimate, output: Seq[Attribute]): Estimate = {
    val columns = list.flatMap {
      case a: Attribute => child.columns.get(a).map(a -> _)
      case a @ Alias(from: Attribute, _) => child.columns.get(from).map(a.toAttribute -> _)
      case a @ Alias(Cast(from: Attribute, _: IntegralType, _, _), _) =>
        child.columns.get(from).map(a.toAttribute -> _)
      case _ => None
    }
    Estimate(child.rows, Estimate.rowBytes(output), AttributeMap(columns))
  }

  private def aggregate(
      grouping: Seq[Expression],
      list: Seq[NamedExpression],
      child: Estimate,
      output: Seq[Attribute]
  ): Estimate = {
    val columns = project(list, child, output).columns
    val ndvs = grouping.map {
      case a: Attribute => child.ndv(a)
      case _ => None
    }
    val groups = Option.when(ndvs.forall(_.isDefined))(ndvs.flatten.product)
    val rows =
      if (grouping.isEmpty) Some(Rows(1, 1, Source.Estimated))
      else
        child.rows.map { r =>
          // Of unknown grouping keys nothing is known but that they are no more than the rows.
          Rows(
            groups.fold(r.value / 2)(math.min(_, r.value)),
            groups.fold(r.bound)(math.min(_, r.bound)),
            Source.Estimated
          )
        }
    Estimate(rows, Estimate.rowBytes(output), columns)
  }

  private def union(u: Union): Estimate = {
    val children = u.children.map(apply)
    val rows = Option.when(children.forall(_.rows.isDefined)) {
      val rs = children.flatMap(_.rows)
      Rows(rs.map(_.value).sum, rs.map(_.bound).sum, Source.Estimated)
    }
    Estimate(rows, Estimate.rowBytes(u.output), AttributeMap.empty)
  }

  private def limit(n: Double, child: Estimate): Estimate = child.copy(
    rows = child.rows
      .map(r => Rows(math.min(n, r.value), math.min(n, r.bound), Source.Estimated))
      .orElse(Some(Rows(n, n, Source.Estimated)))
  )

  private def join(j: Join): Estimate = {
    val (l, r) = (apply(j.left), apply(j.right))
    val columns = AttributeMap(l.columns.toSeq ++ r.columns.toSeq)
    val width = Estimate.rowBytes(j.output)
    val rows = for (lr <- l.rows; rr <- r.rows) yield {
      val keys = ExtractEquiJoinKeys.unapply(j)
      val domain = keys.map { case (_, lk, rk, _, _, _, _, _) => keyDomain(lk, rk, l, r) }.getOrElse(1.0)
      val matched = lr.value * rr.value / math.max(1.0, domain)
      val bound = math.max(matched, lr.bound * rr.bound / math.max(1.0, domain))
      val kept = math.min(1.0, rr.value / math.max(1.0, domain))
      j.joinType match {
        case LeftSemi => Rows(lr.value * kept, lr.bound, Source.Estimated)
        case LeftAnti => Rows(lr.value * math.max(Selectivity.default, 1 - kept), lr.bound, Source.Estimated)
        case _: ExistenceJoin => lr
        case LeftOuter | LeftSingle =>
          Rows(math.max(lr.value, matched), math.max(lr.bound, bound), Source.Estimated)
        case RightOuter => Rows(math.max(rr.value, matched), math.max(rr.bound, bound), Source.Estimated)
        case FullOuter =>
          Rows(math.max(matched, lr.value + rr.value), math.max(bound, lr.bound + rr.bound), Source.Estimated)
        case _ => Rows(matched, bound, Source.Estimated)
      }
    }
    Estimate(rows, width, columns)
  }

  /**
   * Distinct key combinations that rows of both sides are taken from; the divisor of Impala's generic join formula
   * `lhs × rhs / max(ndvL, ndvR)`. Where both are known by row counts alone the smaller one is taken: a foreign key has
   * no more values than the key that it refers to.
   */
  def keyDomain(leftKeys: Seq[Expression], rightKeys: Seq[Expression], l: Estimate, r: Estimate): Double = {
    val (left, right) = (side(leftKeys, l), side(rightKeys, r))
    if (!left.tight && !right.tight) math.min(left.ndv, right.ndv) else math.max(left.ndv, right.ndv)
  }

  private def side(keys: Seq[Expression], e: Estimate): KeyNdv = {
    val stats = keys.map {
      case a: Attribute => e.columns.get(a)
      case Cast(a: Attribute, _: IntegralType, _, _) => e.columns.get(a)
      case _ => None
    }
    val rows = e.rows.fold(Double.MaxValue)(_.value)
    if (stats.forall(_.exists(_.ndv.isDefined))) {
      val cs = stats.flatten
      KeyNdv(math.min(cs.flatMap(_.ndv).product, cs.map(_.tableRows).max), cs.size == 1 && cs.forall(_.tight))
    } else KeyNdv(math.max(1, rows), tight = false)
  }
}

final private case class KeyNdv(ndv: Double, tight: Boolean)
