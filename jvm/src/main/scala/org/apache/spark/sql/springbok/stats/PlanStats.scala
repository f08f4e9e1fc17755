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
      c.withRows(c.rows.map(r => Rows(r.value * expected, r.bound * bound, Source.Estimated)))
    case Project(list, child) => project(list, apply(child), plan.output)
    case Aggregate(grouping, list, child, _) => aggregate(grouping, list, apply(child), plan.output)
    case j: Join => join(j)
    case u: Union => union(u)
    case Distinct(child) => apply(child)
    case GlobalLimit(IntegerLiteral(n), child) => limit(n.toDouble, apply(child))
    case LocalLimit(IntegerLiteral(n), child) => limit(n.toDouble, apply(child))
    case w: Window =>
      val c = apply(w.child)
      c.copy(rowBytes = Estimate.rowBytes(w.output, c.columns))
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
        Estimate(Some(rows), math.max(8, width), below.columns).narrowed
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
    e.withRows(e.rows.map(r => r.copy(value = r.value * kept, source = Source.Estimated)))
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
      val bytes = column.flatMap(_.avgLen).map(_.toDouble).orElse(footer.flatMap(_.valueBytes(a.name)))
      val counted = column.flatMap(_.distinctCount).map(_.toDouble)
      val ndv = counted.orElse(domain.map(math.min(_, n.value)))
      val tight = counted.isDefined || domain.exists(_ < n.value * 0.9)
      a -> ColumnStats(ndv, tight, range.map(_.min), range.map(_.max), n.value, bytes, ndv.getOrElse(n.value))
    }
    val known = AttributeMap(columns)
    Estimate(rows, Estimate.rowBytes(r.output, known), known)
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
    val known = AttributeMap(columns)
    Estimate(child.rows, Estimate.rowBytes(output, known), known)
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
    Estimate(rows, Estimate.rowBytes(output, columns), columns).narrowed
  }

  private def union(u: Union): Estimate = {
    val children = u.children.map(apply)
    val rows = Option.when(children.forall(_.rows.isDefined)) {
      val rs = children.flatMap(_.rows)
      Rows(rs.map(_.value).sum, rs.map(_.bound).sum, Source.Estimated)
    }
    Estimate(rows, Estimate.rowBytes(u.output), AttributeMap.empty)
  }

  private def limit(n: Double, child: Estimate): Estimate = child.withRows(
    child.rows
      .map(r => Rows(math.min(n, r.value), math.min(n, r.bound), Source.Estimated))
      .orElse(Some(Rows(n, n, Source.Estimated)))
  )

  private def join(j: Join): Estimate = {
    val (l, r) = (apply(j.left), apply(j.right))
    val columns = AttributeMap(l.columns.toSeq ++ r.columns.toSeq ++ equalized(j, l, r))
    val width = Estimate.rowBytes(j.output, columns)
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
    Estimate(rows, width, columns).narrowed
  }

  /** Of an inner or semi join's equal columns neither has more values left than the other. */
  private def equalized(j: Join, l: Estimate, r: Estimate): Seq[(Attribute, ColumnStats)] = j match {
    case ExtractEquiJoinKeys(_: InnerLike | LeftSemi, lk, rk, _, _, _, _, _) =>
      lk.zip(rk).flatMap {
        case (a: Attribute, b: Attribute) =>
          for (
            x <- l.columns.get(a).toSeq; y <- r.columns.get(b).toSeq; n = math.min(x.distinct, y.distinct);
            c <- Seq(a -> x, b -> y)
          )
            yield c._1 -> c._2.copy(distinct = n)
        case _ => Nil
      }
    case _ => Nil
  }

  /**
   * Distinct key combinations that rows of both sides are taken from; the divisor of Impala's generic join formula
   * `lhs × rhs / max(ndvL, ndvR)`. Where both are known by their tables' row counts alone the smaller one is taken: a
   * foreign key has no more values than the key that it refers to. Of unknown keys each row is taken for a value.
   */
  def keyDomain(leftKeys: Seq[Expression], rightKeys: Seq[Expression], l: Estimate, r: Estimate): Double =
    (ndvOf(leftKeys, l), ndvOf(rightKeys, r)) match {
      case (Some(a), Some(b)) if a.tight || b.tight => math.max(a.ndv, b.ndv)
      case (Some(a), Some(b)) => math.min(a.ndv, b.ndv)
      case (Some(a), None) => a.ndv
      case (None, Some(b)) => b.ndv
      case (None, None) => Seq(l, r).flatMap(_.rows).map(_.value).minOption.getOrElse(1.0)
    }

  private def ndvOf(keys: Seq[Expression], e: Estimate): Option[KeyNdv] = {
    val stats = keys.flatMap {
      case a: Attribute => e.columns.get(a)
      case Cast(a: Attribute, _: IntegralType, _, _) => e.columns.get(a)
      case _ => None
    }
    Option.when(stats.size == keys.size && stats.forall(_.ndv.isDefined)) {
      val product = stats.flatMap(_.ndv).product
      KeyNdv(math.min(product, stats.map(_.tableRows).max), stats.size == 1 && stats.forall(_.tight))
    }
  }
}

final private case class KeyNdv(ndv: Double, tight: Boolean)
