package org.apache.spark.sql.springbok.stats.operator

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.springbok.catalyst.{FileTable, LocalAggregate, ScanRows, SparkPlanning}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.stats.RuntimeFeedback
import org.apache.spark.sql.springbok.stats.estimate.{
  ColumnStats,
  Distinct => DistinctValues,
  Estimate,
  Rows,
  Source,
  Uniqueness,
  WidenedColumn
}
import org.apache.spark.sql.springbok.stats.source.{ByIdentity, RelationStats, TableFooters}
import org.apache.spark.sql.types.IntegerType

/**
 * Rows, bytes and columns of logical plans: from finished stages, the catalog and footers, and Impala's
 * formulas above them. Remembers its answers, so one instance serves one planning. Each family of operators has a rule of its own in this
 * package.
 *
 * @param feedback
 *   what stages tell; None for the estimates of the first planning, to which stages do not count
 * @param lasting
 *   what stays true in all plannings of a query
 */
final class PlanStats(
    feedback: Option[RuntimeFeedback] = None,
    lasting: PlanStats.Lasting = new PlanStats.Lasting
) {
  private val known = new IdentityHashMap[LogicalPlan, Estimate]()
  private val relations = new RelationStats

  def apply(plan: LogicalPlan): Estimate = Option(known.get(plan)).getOrElse {
    val e = lasting.get(plan, feedback.isDefined).getOrElse(computeAndKeep(plan))
    known.put(plan, e): Unit
    e
  }

  private def computeAndKeep(plan: LogicalPlan): Estimate = {
    // Asked before the estimate is computed: a stage may finish meanwhile.
    val leaf = plan match {
      case FileTable(_, _) | _: LocalRelation | _: Range | _: LogicalRDD => Some(false)
      case m: InMemoryRelation if m.cacheBuilder.isCachedColumnBuffersLoaded => Some(false)
      case s: LogicalQueryStage if feedback.isDefined && SparkPlanning.isMaterialized(s) => Some(true)
      case _ => None
    }
    val e = compute(plan)
    def above = (if (feedback.isDefined) Seq(false, true) else Seq(false)).find { stages =>
      plan.children.nonEmpty && plan.children.forall(lasting.get(_, stages).isDefined)
    }
    leaf.orElse(above).foreach(lasting.put(plan, e, _))
    e
  }

  /** Remembers for a plan what is known of an equal one: of an operator and those below it. */
  def carry(from: LogicalPlan, to: LogicalPlan): Unit = if (from ne to) {
    carryOne(from, to)
    from.children.zip(to.children).foreach { case (f, t) => carry(f, t) }
  }

  /** The same of the operator alone. */
  def carryOne(from: LogicalPlan, to: LogicalPlan): Unit = if (from ne to) {
    Option(known.get(from)).foreach(known.put(to, _))
    lasting.carry(from, to)
  }

  /** Footers of a relation, read once. */
  def footers(relation: HadoopFsRelation): Option[TableFooters] = relations.footers(relation)

  /** Reads what files tell of the keys of all joins: those of a table at the same time if each read takes long. */
  def readKeys(plan: LogicalPlan): Unit = {
    val keys = AttributeSet(plan.collect { case j: Join =>
      j.condition.toSeq.flatMap(PlanStats.compared)
    }.flatten)
    for (leaf <- plan.collectLeaves() if leaf.output.count(keys.contains) > 1) {
      val columns = leaf.output.filter(keys.contains).flatMap(apply(leaf).columns.get)
      val stored = columns.filter(_.distinct.exists(_.isInstanceOf[DistinctValues.Sampled])).map(_.stored)
      if (stored.size > 1) stored.head.readWith(stored.tail)
    }
  }

  /** Bytes in memory of a plan's rows that are not exceeded, None if nothing bounds them. */
  def mostBytes(plan: LogicalPlan): Option[Double] = new MostBytes(this, feedback).of(plan)

  /** What was left out of a relation's statistics, and why. */
  def ignored(relation: LogicalRelation): Seq[Reason] = relations.ignored(relation)

  private def compute(plan: LogicalPlan): Estimate = plan match {
    case s: LogicalQueryStage => feedback.fold(apply(s.logicalPlan))(StageStats(s, apply(s.logicalPlan), _))
    case leaf: LeafNode => LeafStats(leaf, relations, apply)
    case f: Filter => FilterStats(f, apply)
    case p: Project => ProjectStats(p, apply(p.child))
    case a: Aggregate => AggregateStats(a, apply(a.child))
    case LocalAggregate(retained, a: Aggregate) => AggregateStats.local(a, retained, apply(a.child))
    case j: Join => JoinStats(j, apply, feedback)
    case u: Union => SetStats.union(u, u.children.map(apply))
    case Intersect(l, r, _) => SetStats.intersect(apply(l), apply(r))
    case Except(l, _, _) => apply(l)
    case e: Expand => MultipliedStats(e, apply(e.child))
    case g: Generate => MultipliedStats(g, apply(g.child))
    case s: Sample => MultipliedStats(s, apply(s.child))
    case GlobalLimit(IntegerLiteral(n), child) => limited(n.toDouble, apply(child))
    // Each partition gives so many.
    case LocalLimit(IntegerLiteral(n), child) => perPartition(n.toDouble, apply(child))
    case SameRows(child) => apply(child)
    // Each row may hold what all rows of its partition have.
    case w: Window if w.windowExpressions.exists(AggregateStats.keepsInput) => Estimate.unknown(w.output)
    case OneRowEach(child) => widened(plan, apply(child))
    case _ => Estimate.unknown(plan.output)
  }

  private def limited(n: Double, child: Estimate): Estimate =
    child.withRows(child.rows.map(_.atMost(n)).orElse(Some(Rows(n, n, Source.Estimated))))

  private def perPartition(n: Double, child: Estimate): Estimate =
    child.withRows(child.rows.map(r => r.copy(value = math.min(r.value, n), source = Source.Estimated)))

  private def widened(plan: LogicalPlan, child: Estimate): Estimate =
    child.copy(rowBytes =
      Estimate.rowBytes(plan.output, child.columns) + child.unexplainedBytes(plan.children.head.output)
    )
}

/** Operators whose rows are their child's. */
private object SameRows {
  def unapply(p: LogicalPlan): Option[LogicalPlan] = p match {
    case _: Distinct | _: Sort | _: SubqueryAlias | _: View | _: RepartitionOperation | _: ResolvedHint |
        _: ReturnAnswer | _: WindowGroupLimit | _: RebalancePartitions | _: LocalAggregate =>
      p.children.headOption
    case _ => None
  }
}

/** Operators that make one row of each, with other columns. */
private object OneRowEach {
  def unapply(p: LogicalPlan): Option[LogicalPlan] = p match {
    case _: Window | _: BaseEvalPython | _: DeserializeToObject | _: SerializeFromObject | _: MapElements =>
      p.children.headOption
    case _ => None
  }
}

object PlanStats extends PredicateHelper {

  /** The columns that are compared for equality. */
  private def compared(condition: Expression): Seq[Attribute] =
    splitConjunctivePredicates(condition).flatMap {
      case Equality(a, b) => Seq(a, b).collect { case WidenedColumn(c) => c }
      case _ => Nil
    }

  /**
   * Estimates that all plannings of a query share, by the very node. Nothing that runs can change them: they are of files
   * and cached tables and the operators on them, and of finished stages and the operators on those. Estimates of running
   * stages and of caches that are being filled are not among them. Adaptive execution plans again after each stage.
   */
  final class Lasting {
    private val files = ByIdentity[LogicalPlan, Estimate]()
    private val finished = ByIdentity[LogicalPlan, Estimate]()

    /** @param stages whether what finished stages hold counts */
    def get(plan: LogicalPlan, stages: Boolean): Option[Estimate] =
      Option(files.getIfPresent(plan)).orElse(if (stages) Option(finished.getIfPresent(plan)) else None)

    def put(plan: LogicalPlan, e: Estimate, stages: Boolean): Unit =
      (if (stages) finished else files).put(plan, e)

    /** Remembers for a node what is known of an equal one. */
    def carry(from: LogicalPlan, to: LogicalPlan): Unit =
      Seq(files, finished).foreach(ByIdentity.carry(_, from, to))
  }
}

/** Set operations. */
private[operator] object SetStats {
  def union(u: Union, children: Seq[Estimate]): Estimate = {
    val rows = Option.when(children.forall(_.rows.isDefined)) {
      children.flatMap(_.rows).foldLeft(Rows(0, 0, Source.Estimated))(_ + _)
    }
    // Spark computes the output of a projection anew each time.
    val outputs = u.children.map(_.output.toIndexedSeq)
    val columns = u.output.zipWithIndex.flatMap { case (a, i) =>
      val each = outputs.zip(children).map { case (o, e) => e.columns.get(o(i)) }
      Option.when(each.forall(_.isDefined))(a -> ColumnStats.united(each.flatten))
    }
    val known = AttributeMap(columns)
    // The widest branch may be nearly all of it.
    val bytes = (Estimate.rowBytes(u.output, known) +: children.map(_.rowBytes)).max
    Estimate(rows, bytes, known).narrowed
  }

  /** No more rows than the smaller side has. */
  def intersect(l: Estimate, r: Estimate): Estimate =
    l.withRows((l.rows ++ r.rows).minByOption(_.bound).map(_.copy(source = Source.Estimated)))
}

/** Operators that make a number of rows of each: expansions, generators, samples. No column is unique after them. */
private[operator] object MultipliedStats {

  /** Grouping keys of ROLLUP keep their values, beside the nulls of other levels; a level has its number. */
  def apply(e: Expand, child: Estimate): Estimate = {
    val all = times(e, child, e.projections.size.toDouble)
    val made = e.output.zip(e.projections.transpose).filterNot { case (a, _) => child.columns.contains(a) }
    val columns = made.flatMap { case (a, values) =>
      val (constants, others) = values.distinct.partition(_.foldable)
      others match {
        case Nil => Some(a -> ColumnStats.ofConstants(constants.size, all.rows.fold(0.0)(_.value)))
        case Seq(from: Attribute) =>
          child.columns.get(from).map(c => a -> c.copy(nullFraction = None, uniqueness = Uniqueness.Unknown))
        case _ => None
      }
    }
    all.copy(columns = AttributeMap(all.columns.toSeq ++ columns)).narrowed
  }

  def apply(s: Sample, child: Estimate): Estimate =
    times(
      s,
      child,
      math.min(if (s.withReplacement) Double.MaxValue else 1.0, math.max(0.0, s.upperBound - s.lowerBound))
    )

  /** The number is known of arrays that are literals, and unknown of columns. */
  def apply(g: Generate, child: => Estimate): Estimate = {
    val each = g.generator match {
      case Explode(array) => elements(array)
      case PosExplode(array) => elements(array)
      case Stack(Literal(n: Int, IntegerType) +: _) => Some(n)
      case _ => None
    }
    each.fold(Estimate.unknown(g.output))(n => times(g, child, if (g.outer) math.max(1.0, n) else n.toDouble))
  }

  private def elements(array: Expression): Option[Int] = array match {
    case CreateArray(items, _) => Some(items.size)
    case Literal(a: ArrayData, _) => Some(a.numElements())
    case _ => None
  }

  private def times(plan: UnaryNode, child: Estimate, by: Double): Estimate = {
    val columns = AttributeMap(child.columns.toSeq.collect {
      case (a, s) if plan.outputSet.contains(a) => a -> s.copy(uniqueness = Uniqueness.Unknown)
    })
    val bytes = Estimate.rowBytes(plan.output, columns) + child.unexplainedBytes(plan.child.output)
    Estimate(child.rows.map(_.scale(by)), bytes, columns).narrowed
  }
}

/** Tables and other leaves of a plan, but for query stages. */
private[operator] object LeafStats {
  def apply(leaf: LeafNode, relations: RelationStats, estimate: LogicalPlan => Estimate): Estimate =
    leaf match {
      case FileTable(r, fs) => relations.relation(r, fs)
      // Tables that are not files, such as Hive's, may have been analyzed.
      case r: LogicalRelation => relations.reported(r.output, r.stats, Source.Analyzed)
      case h: HiveTableRelation => relations.reported(h.output, h.stats, Source.Analyzed)
      case v: DataSourceV2ScanRelation => relations.reported(v.output, statistics(v), Source.Connector)
      case r: LogicalRDD => relations.reported(r.output, r.stats, Source.Estimated)
      case m: InMemoryRelation => cached(m, relations, estimate)
      case l: LocalRelation => counted(l, l.data.size.toDouble, Source.Runtime)
      case r: Range => counted(r, r.numElements.toDouble, Source.Analyzed)
      case _ => Estimate.unknown(leaf.output)
    }

  /** Spark 4.3 asks a connector for its rows only with `spark.sql.cbo.enabled`. */
  private def statistics(v: DataSourceV2ScanRelation): Statistics =
    v.stats.copy(rowCount = v.stats.rowCount.orElse(ScanRows(v.scan).map(BigInt(_))))

  private def counted(leaf: LeafNode, n: Double, source: Source): Estimate =
    Estimate(Some(Rows(n, n, source)), Estimate.rowBytes(leaf.output), AttributeMap.empty)

  /** A cached table is counted once its buffers are there. Before, it is as the plan that will fill them. */
  private def cached(
      m: InMemoryRelation,
      relations: RelationStats,
      estimate: LogicalPlan => Estimate
  ): Estimate = {
    def filled = SparkPlanning.cachedPlan(m).filter(_.output.size == m.output.size)
    if (m.cacheBuilder.isCachedColumnBuffersLoaded)
      relations.reported(m.output, m.computeStats(), Source.Runtime)
    else
      filled.fold(relations.reported(m.output, m.stats, Source.Estimated)) { plan =>
        val e = estimate(plan)
        val renamed =
          plan.output.zip(m.output).flatMap { case (from, to) => e.columns.get(from).map(to -> _) }
        e.copy(columns = AttributeMap(renamed))
      }
  }
}
