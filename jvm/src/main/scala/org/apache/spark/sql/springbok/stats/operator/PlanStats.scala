package org.apache.spark.sql.springbok.stats.operator

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.JoinState
import org.apache.spark.sql.springbok.stats.estimate.{
  ColumnStats,
  Estimate,
  LazyValues,
  Rows,
  Selectivity,
  Source,
  WidenedColumn
}
import org.apache.spark.sql.springbok.stats.source.{ByIdentity, ParquetFooters, RelationStats}
import org.apache.spark.sql.types._

/**
 * Rows, bytes and columns of logical plans: from finished stages, the catalog, footers, and Impala's formulas above
 * them. Remembers what it was asked, so one instance serves one planning.
 *
 * @param runtime
 *   whether finished stages count; without them the estimates are those of the first planning
 * @param lasting
 *   what stays true in all plannings of a query
 */
final class PlanStats(runtime: Boolean = true, lasting: PlanStats.Lasting = new PlanStats.Lasting)
    extends PredicateHelper {
  private val known = new IdentityHashMap[LogicalPlan, Estimate]()
  private val relations = new RelationStats
  private val inStages = new IdentityHashMap[SparkPlan, Seq[AppliedRuntimeFilterExec]]()

  def apply(plan: LogicalPlan): Estimate = Option(known.get(plan)).getOrElse {
    val e = lasting.get(plan, runtime).getOrElse(anew(plan))
    known.put(plan, e): Unit
    e
  }

  private def anew(plan: LogicalPlan): Estimate = {
    // Whether stages count in what lasts of it. Asked before: a stage may finish meanwhile.
    val leaf = plan match {
      case LogicalRelation(_: HadoopFsRelation, _, _, _, _) => Some(false)
      case s: LogicalQueryStage if runtime && s.isMaterialized => Some(true)
      case _ => None
    }
    val e = compute(plan)
    def above = (if (runtime) Seq(false, true) else Seq(false)).find { stages =>
      plan.children.nonEmpty && plan.children.forall(lasting.get(_, stages).isDefined)
    }
    leaf.orElse(above).foreach(lasting.put(plan, e, _))
    e
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
      val part = Selectivity.of(splitConjunctivePredicates(condition), c.columns)
      def left(r: Rows) =
        Rows(
          r.value * part.expected,
          r.bound * part.bound,
          Source.Estimated,
          math.max(r.bound * part.bound, if (whole(child)) r.most * part.most else r.most)
        )
      c.withRows(c.rows.map(left))
    case p: Project => measured(p, project(p.projectList, apply(p.child), p.output))
    case Aggregate(grouping, list, child, _) => aggregate(grouping, list, apply(child), plan.output)
    case j: Join =>
      val e = JoinEstimate(j, apply(j.left), apply(j.right), runtime)
      j.joinType match {
        case _: InnerLike | LeftSemi if runtime => unfiltered(j, e)
        case _ => e
      }
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

  /** Whether its rows are a table's, each of them once: what row groups hold is a part of those. */
  private def whole(p: LogicalPlan): Boolean = p match {
    case Project(_, child) => whole(child)
    case _ => p.isInstanceOf[LogicalRelation]
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
    val e = apply(s.logicalPlan)
    val kept = filters(s.physicalPlan).flatMap(_.info.record.retained).product
    e.withRows(e.rows.map(r => r.copy(value = r.value * kept, source = Source.Estimated)))
  }

  /** The runtime filters that are at work in a stage. */
  private def filters(stage: SparkPlan): Seq[AppliedRuntimeFilterExec] = inStages.computeIfAbsent(
    stage,
    {
      case q: QueryStageExec =>
        q.plan.collect {
          case f: AppliedRuntimeFilterExec if f.info != null && f.late.isEmpty => f
        }
      case _ => Nil
    }
  )

  /**
   * A join that drops what has no match, and whose own filter has removed such rows in a stage below, one by one: they are
   * not to be taken off again.
   */
  private def unfiltered(j: Join, e: Estimate): Estimate =
    j.getTagValue(JoinState.tag).fold(e) { record =>
      val own = j
        .collect { case s: LogicalQueryStage => filters(s.physicalPlan) }
        .flatten
        .filter(f => f.predicate.isDefined && f.info.record.join == record.id)
        .map(_.info.record)
      val kept = own.distinctBy(_.key).flatMap(_.retained).filter(_ > 0).product
      if (own.isEmpty) e else e.withRows(e.rows.map(r => r.copy(value = math.min(r.bound, r.value / kept))))
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
      case (a, s) if plan.outputSet.contains(a) => a -> s.copy(unique = false, proven = false)
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
      case a @ Alias(e @ WidenedColumn(from), _) if e != from =>
        child.columns.get(from).map(c => a.toAttribute -> c.copy(values = LazyValues.unknown))
      case _ => None
    }
    val known = AttributeMap(columns)
    Estimate(child.rows, Estimate.rowBytes(output, known), known)
  }

  /** What rows below were measured to have beyond their columns' statistics is in the values of variable length. */
  private def measured(p: Project, e: Estimate): Estimate = {
    val c = apply(p.child)
    val more = c.rowBytes - Estimate.rowBytes(p.child.output, c.columns)
    if (more <= 0 || p.output.forall(a => UnsafeRow.isFixedLength(a.dataType))) e
    else e.copy(rowBytes = e.rowBytes + more)
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
        below
          .get(key)
          .fold(below)(c => AttributeMap(below.toSeq :+ (key -> c.copy(unique = true, proven = true))))
      case _ => below
    }
    val rows =
      if (grouping.isEmpty) Some(Rows(1, 1, Source.Estimated))
      else
        child.rows.map { r =>
          val (most, counted) = groups(grouping, child)
          // Of unknown grouping keys nothing is known but that they are no more than the rows.
          (if (counted) r else r.copy(value = r.value / 2, source = Source.Estimated)).atMost(most)
        }
    Estimate(rows, Estimate.rowBytes(output, columns), columns).narrowed
  }

  /**
   * Most groups by these keys, and whether the values of all of them are counted: as many as combinations of their values,
   * but of the columns of one table no more than it has rows, and one where a join found none.
   */
  private def groups(by: Seq[Expression], child: Estimate): (Double, Boolean) = {
    val keys = by.map {
      case a: Attribute => child.columns.get(a).map(_ -> child.groups(a))
      case _ => None
    }
    val tables = keys.map(_.flatMap(_._1.table)).zip(keys).groupMap(_._1)(_._2)
    val most = tables.map { case (table, columns) =>
      val values = columns.map(_.flatMap(_._2).getOrElse(Double.PositiveInfinity)).product
      val rows = table.flatMap(_ => columns.flatten.map(_._1.tableRows).maxOption)
      rows.fold(values)(n => math.min(values, n + 1))
    }
    (most.product, keys.forall(_.exists(_._2.isDefined)))
  }

  private def union(u: Union): Estimate = {
    val children = u.children.map(apply)
    val rows = Option.when(children.forall(_.rows.isDefined)) {
      children.flatMap(_.rows).foldLeft(Rows(0, 0, Source.Estimated))(_ + _)
    }
    val columns = u.output.zipWithIndex.flatMap { case (a, i) =>
      val each = u.children.zip(children).map { case (c, e) => e.columns.get(c.output(i)) }
      Option.when(each.forall(_.isDefined))(a -> ColumnStats.united(each.flatten))
    }
    Estimate(rows, Estimate.rowBytes(u.output), AttributeMap(columns)).narrowed
  }

  private def limit(n: Double, child: Estimate): Estimate = child.withRows(
    child.rows.map(_.atMost(n)).orElse(Some(Rows(n, n, Source.Estimated)))
  )
}

object PlanStats {

  /**
   * Estimates that nothing which runs can change, by the very node: of files and operators on them, and of what stands
   * upon finished stages. Not of stages that run, nor of cached tables. Adaptive execution plans again after each stage.
   */
  final class Lasting {
    private val files = new ByIdentity[LogicalPlan, Estimate]
    private val finished = new ByIdentity[LogicalPlan, Estimate]

    /** @param stages whether what finished stages hold counts */
    def get(plan: LogicalPlan, stages: Boolean): Option[Estimate] =
      files.get(plan).orElse(if (stages) finished.get(plan) else None)

    def put(plan: LogicalPlan, e: Estimate, stages: Boolean): Unit =
      (if (stages) finished else files).put(plan, e)
  }
}
