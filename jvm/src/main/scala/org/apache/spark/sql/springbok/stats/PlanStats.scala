package org.apache.spark.sql.springbok.stats

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.report.Reason
import org.apache.spark.sql.types._

/**
 * Rows, bytes and columns of logical plans: from finished stages, the catalog, footers, and Impala's formulas above
 * them. Remembers what it was asked, so one instance serves one planning.
 *
 * @param runtime
 *   whether finished stages count; without them the estimates are those of the first planning
 */
final class PlanStats(runtime: Boolean = true) extends PredicateHelper {
  private val known = new IdentityHashMap[LogicalPlan, Estimate]()
  private val relations = new RelationStats

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
  def footers(relation: HadoopFsRelation): Option[ParquetFooters.Table] = relations.footers(relation)

  /** What was left out of a relation's statistics, and why. */
  def ignored(relation: LogicalRelation): Seq[Reason] = relations.ignored(relation)

  private def compute(plan: LogicalPlan): Estimate = plan match {
    case s: LogicalQueryStage if !runtime => apply(s.logicalPlan)
    case s: LogicalQueryStage if s.isMaterialized => stage(s)
    case s: LogicalQueryStage => running(s)
    case r @ LogicalRelation(fs: HadoopFsRelation, _, _, _, _) => relations.relation(r, fs)
    // A table of ANALYZE's that is not files, such as Hive's.
    case r: LogicalRelation => relations.reported(r.output, r.stats, Source.Analyzed)
    case h: HiveTableRelation => relations.reported(h.output, h.stats, Source.Analyzed)
    case v: DataSourceV2ScanRelation => relations.reported(v.output, v.stats, Source.Analyzed)
    case r: LogicalRDD => relations.reported(r.output, r.stats, Source.Estimated)
    case m: InMemoryRelation => cached(m)
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
    case _: Sort | _: SubqueryAlias | _: View | _: RepartitionOperation | _: ResolvedHint | _: ReturnAnswer |
        _: WindowGroupLimit | _: RebalancePartitions =>
      apply(plan.children.head)
    // One row out for each row in, with other columns.
    case _: BaseEvalPython | _: DeserializeToObject | _: SerializeFromObject | _: MapElements =>
      val c = apply(plan.children.head)
      c.copy(rowBytes = Estimate.rowBytes(plan.output, c.columns))
    case e: Expand => times(e, e.projections.size.toDouble)
    case g: Generate => generated(g)
    case s: Sample => times(s, math.min(1.0, math.max(0.0, s.upperBound - s.lowerBound)))
    case Intersect(l, r, _) =>
      val (a, b) = (apply(l), apply(r))
      a.withRows((a.rows ++ b.rows).minByOption(_.bound).map(_.copy(source = Source.Estimated)))
    case Except(l, _, _) => apply(l)
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

  /** A cached table: counted when its buffers are there, else as the plan that will fill them. */
  private def cached(m: InMemoryRelation): Estimate =
    if (m.cacheBuilder.isCachedColumnBuffersLoaded) relations.reported(m.output, m.stats, Source.Runtime)
    else {
      val plan = m.cacheBuilder.logicalPlan
      if (plan == null || plan.output.size != m.output.size)
        relations.reported(m.output, m.stats, Source.Estimated)
      else {
        val e = apply(plan)
        val renamed =
          plan.output.zip(m.output).flatMap { case (from, to) => e.columns.get(from).map(to -> _) }
        e.copy(columns = AttributeMap(renamed))
      }
    }

  private def times(plan: UnaryNode, by: Double): Estimate = {
    val c = apply(plan.child)
    val columns = AttributeMap(c.columns.toSeq.collect {
      case (a, s) if plan.outputSet.contains(a) => a -> s.copy(unique = false)
    })
    Estimate(c.rows.map(_.scale(by)), Estimate.rowBytes(plan.output, columns), columns).narrowed
  }

  /** Rows that a generator makes of one: known of arrays that are written down, unknown of columns. */
  private def generated(g: Generate): Estimate = {
    def elements(e: Expression): Option[Int] = e match {
      case CreateArray(items, _) => Some(items.size)
      case Literal(a: ArrayData, _) => Some(a.numElements())
      case _ => None
    }
    val each = g.generator match {
      case Explode(array) => elements(array)
      case PosExplode(array) => elements(array)
      case Stack(Literal(n: Int, IntegerType) +: _) => Some(n)
      case _ => None
    }
    each.fold(Estimate.unknown(g.output))(n => times(g, n.toDouble))
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
    val below = project(list, child, output).columns
    val columns = grouping match {
      case Seq(key: Attribute) =>
        below.get(key).fold(below)(c => AttributeMap(below.toSeq :+ (key -> c.copy(unique = true))))
      case _ => below
    }
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
    val columns = u.output.zipWithIndex.flatMap { case (a, i) =>
      val each = u.children.zip(children).map { case (c, e) => e.columns.get(c.output(i)) }
      Option.when(each.forall(_.isDefined))(a -> ColumnStats.united(each.flatten))
    }
    Estimate(rows, Estimate.rowBytes(u.output), AttributeMap(columns)).narrowed
  }

  private def limit(n: Double, child: Estimate): Estimate = child.withRows(
    child.rows
      .map(r => Rows(math.min(n, r.value), math.min(n, r.bound), Source.Estimated))
      .orElse(Some(Rows(n, n, Source.Estimated)))
  )

  private def join(j: Join): Estimate = {
    val (l, r) = (apply(j.left), apply(j.right))
    val keys = ExtractEquiJoinKeys.unapply(j).map { case (_, lk, rk, _, _, _, _, _) => lk -> rk }
    val (uniqueLeft, uniqueRight) =
      (keys.exists(k => unique(k._1, l)), keys.exists(k => unique(k._2, r)))
    val filters = j.joinType match {
      case LeftSemi | LeftAnti | _: ExistenceJoin => true
      case _ => false
    }
    // Rows without a match bring nulls that the table does not have; those with several matches are there several times.
    def side(e: Estimate, padded: Boolean, once: Boolean) = e.columns.toSeq.map { case (a, c) =>
      a -> c.copy(nulls = if (padded) None else c.nulls, unique = c.unique && once && !padded)
    }
    val columns = AttributeMap(
      side(l, j.joinType == RightOuter || j.joinType == FullOuter, uniqueRight || filters) ++
        side(r, j.joinType == LeftOuter || j.joinType == FullOuter, uniqueLeft) ++ equalized(j, l, r)
    )
    val width = Estimate.rowBytes(j.output, columns)
    val rows = for (lr <- l.rows; rr <- r.rows) yield {
      val domain = keys.fold(1.0) { case (lk, rk) => keyDomain(lk, rk, l, r) }
      val matched = lr.value * rr.value / math.max(1.0, domain)
      val bound = math.max(
        matched,
        if (uniqueLeft || uniqueRight)
          Seq(uniqueRight -> lr.bound, uniqueLeft -> rr.bound).filter(_._1).map(_._2).min
        else math.min(lr.bound * rr.bound, lr.bound * rr.bound / math.max(1.0, domain) * PlanStats.skew)
      )
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
            yield c._1 -> c._2
              .copy(distinct = n, unique = c._2.unique && (j.joinType == LeftSemi || x.unique && y.unique))
        case _ => Nil
      }
    case _ => Nil
  }

  /**
   * Distinct key combinations that rows of both sides are taken from; the divisor of Impala's generic join formula
   * `lhs × rhs / max(ndvL, ndvR)`. Of a key that is unique on one side it is the other's number of values, if that is
   * known and smaller: queries ask a dimension for what the facts have, so its filtered rows are among them. This is
   * Impala's FK/PK formula `lhs × rhs/rhsTableRows × rhsNdv/lhsNdv`, at most lhs. Where both are known by their tables'
   * row counts alone the smaller one is taken: a foreign key has no more values than the key that it refers to. Of
   * unknown keys each row is taken for a value.
   */
  def keyDomain(leftKeys: Seq[Expression], rightKeys: Seq[Expression], l: Estimate, r: Estimate): Double =
    (ndvOf(leftKeys, l), ndvOf(rightKeys, r)) match {
      case (Some(a), Some(b)) =>
        (unique(leftKeys, l), unique(rightKeys, r)) match {
          case (true, true) => math.max(a.ndv, b.ndv)
          case (false, true) => referred(a, b, r)
          case (true, false) => referred(b, a, l)
          case _ if a.tight || b.tight => math.max(a.ndv, b.ndv)
          case _ => math.min(a.ndv, b.ndv)
        }
      case (Some(a), None) => a.ndv
      case (None, Some(b)) => b.ndv
      case (None, None) => Seq(l, r).flatMap(_.rows).map(_.value).minOption.getOrElse(1.0)
    }

  /** The domain of a foreign key and the unique key that it refers to: no row finds two of them. */
  private def referred(foreign: KeyNdv, key: KeyNdv, keys: Estimate): Double = {
    val values = if (foreign.tight) math.min(foreign.ndv, key.ndv) else key.ndv
    math.max(values, keys.rows.fold(0.0)(_.value))
  }

  /** Whether no two rows have the same keys. */
  private def unique(keys: Seq[Expression], e: Estimate): Boolean = keys.exists(column(_, e).exists(_.unique))

  /** The column that a key is, or a cast of it to a whole number. */
  private def column(key: Expression, e: Estimate): Option[ColumnStats] = key match {
    case a: Attribute => e.columns.get(a)
    case Cast(a: Attribute, _: IntegralType, _, _) => e.columns.get(a)
    case _ => None
  }

  private def ndvOf(keys: Seq[Expression], e: Estimate): Option[KeyNdv] = {
    val stats = keys.flatMap(column(_, e))
    Option.when(stats.size == keys.size && stats.forall(_.ndv.isDefined)) {
      val product = stats.flatMap(_.ndv).product
      KeyNdv(math.min(product, stats.map(_.tableRows).max), stats.size == 1 && stats.forall(_.tight))
    }
  }
}

object PlanStats {

  /**
   * How many times more rows than with evenly spread keys a join may give whose keys are unique on neither side: what is
   * held in memory is bounded by it. Skew has no bound; this one keeps broadcasts a tenth of the limits from them.
   */
  val skew = 10.0
}

final private case class KeyNdv(ndv: Double, tight: Boolean)
