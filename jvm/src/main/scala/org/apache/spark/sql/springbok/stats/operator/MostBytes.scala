package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{InputAdapter, SortExec, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.{DefaultCachedBatchSerializer, InMemoryRelation}
import org.apache.spark.sql.springbok.catalyst.{LocalAggregate, Sides, SparkPlanning}
import org.apache.spark.sql.springbok.stats.RuntimeFeedback
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Bytes in memory of a plan's rows that are not exceeded, which is more than an estimate: the average length of a string says
 * nothing of the rows that a filter or a join retains, or of a string that is computed.
 *
 * '''Why it is a bound''': values of a fixed length take the same bytes in each row. Those of variable length are followed
 * down to where all of them together have been counted: a table's column, a cached table or a finished stage. On the way a
 * filter, a group and a join with at most one match only leave some of them out, and a function that is listed here makes no
 * more bytes than it is given. Where a join finds several matches each of its rows may have all of them. Nothing bounds what
 * any other function or operator makes.
 */
final private[operator] class MostBytes(stats: PlanStats, feedback: Option[RuntimeFeedback]) {

  /** None if nothing bounds them. */
  def of(plan: LogicalPlan): Option[Double] = measured(plan).orElse {
    for {
      rows <- rows(plan)
      // Variable parts are rounded up to words.
      each = math
        .ceil(plan.output.size / 64.0) * 8 + plan.output.map(a => fixed(a.dataType).getOrElse(15.0)).sum
      values <- together(plan.output.filter(a => fixed(a.dataType).isEmpty), plan)
    } yield rows * each + values
  }

  private def rows(plan: LogicalPlan): Option[Double] = stats(plan).rows.map(_.most)

  /** Bytes of the rows of a finished stage. */
  private def measured(plan: LogicalPlan): Option[Double] = plan match {
    case s: LogicalQueryStage
        if SparkPlanning.isMaterialized(s) && !StageStats.isCache(s) && addsNothing(s.physicalPlan) =>
      stats(s).mostBytes
    case _ => None
  }

  /** Whether the rows of a finished exchange are all that there is. An aggregate above it may compute longer values. */
  private def addsNothing(plan: SparkPlan): Boolean = plan match {
    case _: QueryStageExec => true
    case a: BaseAggregateExec =>
      a.resultExpressions.forall {
        case _: Attribute | Alias(_: Attribute, _) => true
        case _ => false
      } && addsNothing(a.child)
    case _: SortExec | _: AQEShuffleReadExec | _: WholeStageCodegenExec | _: InputAdapter =>
      addsNothing(plan.children.head)
    case _ => false
  }

  /** Bytes of the values that a cached table holds, which Spark's own format counts before it compresses them. */
  private def cached(plan: LogicalPlan): Option[Double] = plan match {
    case m: InMemoryRelation if m.cacheBuilder.isCachedColumnBuffersLoaded =>
      Option.when(m.cacheBuilder.serializer.isInstanceOf[DefaultCachedBatchSerializer])(
        // Not `stats`, which keeps what was estimated before the buffers were there.
        m.computeStats().sizeInBytes.toDouble
      )
    case _ => None
  }

  /** Bytes that a value takes in its row, None if they differ. */
  private def fixed(t: DataType): Option[Double] = t match {
    case _: DecimalType | CalendarIntervalType => Some(8.0 + 16)
    case other => Option.when(UnsafeRow.isFixedLength(other))(8.0)
  }

  /** Bytes of the values of these columns in all rows, of a column that is listed twice twice. */
  private def together(values: Seq[Attribute], plan: LogicalPlan): Option[Double] =
    if (values.isEmpty) Some(0.0)
    else
      measured(plan)
        .orElse(cached(plan))
        .map(_ * values.groupBy(_.exprId).values.map(_.size).max)
        .orElse(plan match {
          case s: LogicalQueryStage => together(values, s.logicalPlan)
          case Project(list, child) => computed(values.map(v => list.find(_.exprId == v.exprId)), plan, child)
          case a: Aggregate =>
            computed(values.map(v => a.aggregateExpressions.find(_.exprId == v.exprId)), plan, a.child)
          case LocalAggregate(_, a: Aggregate) =>
            computed(values.map(v => a.aggregateExpressions.find(_.exprId == v.exprId)), plan, a.child)
          case e: Expand =>
            val at = values.map(v => e.output.indexWhere(_.exprId == v.exprId))
            computed(e.projections.flatMap(made => at.map(made.lift)), plan, e.child)
          case j: Join => joined(values, j)
          case u: Union =>
            val at = values.map(v => u.output.indexWhere(_.exprId == v.exprId))
            sum(u.children.map(c => together(at.map(c.output), c)))
          case m: InMemoryRelation =>
            val at = values.map(v => m.output.indexWhere(_.exprId == v.exprId))
            SparkPlanning
              .cachedPlan(m)
              .filter(_.output.size == m.output.size)
              .flatMap(p => together(at.map(p.output), p))
          case _: Filter | _: Window | _: GlobalLimit | _: LocalLimit | _: BaseEvalPython | SameRows(_) =>
            passed(values, plan.children.head)
          case s: Sample if !s.withReplacement => passed(values, s.child)
          case leaf: LeafNode =>
            val columns = stats(leaf).columns
            sum(values.map(v => if (isText(v.dataType)) columns.get(v).flatMap(_.stored.mostBytes) else None))
          case _ => None
        })

  private def passed(values: Seq[Attribute], child: LogicalPlan): Option[Double] =
    if (values.size <= MostBytes.mostValues && values.forall(child.outputSet.contains))
      together(values, child)
    else None

  private def joined(values: Seq[Attribute], j: Join): Option[Double] = {
    val once = JoinStats.once(j, stats(j.left), stats(j.right), feedback)
    val sides = Sides(j.left, j.right)
    def of(plan: LogicalPlan, matchesOnce: Boolean) = {
      val own = together(values.filter(plan.outputSet.contains), plan)
      if (matchesOnce || own.contains(0.0)) own else for (n <- rows(j); b <- own) yield n * b
    }
    val left = j.joinType match {
      case LeftSemi | LeftAnti | _: ExistenceJoin => true
      case _ => once.right || rows(j.right).exists(_ <= 1)
    }
    if (!values.forall(v => sides.toSeq.exists(_.outputSet.contains(v)))) None
    else sum(Seq(of(j.left, left), of(j.right, once.left || rows(j.left).exists(_ <= 1))))
  }

  private def computed(
      values: Seq[Option[Expression]],
      plan: LogicalPlan,
      child: LogicalPlan
  ): Option[Double] = for {
    made <- all(values.map(_.flatMap(MostBytes.sources)))
    n <- rows(plan)
    read <- passed(made.flatMap(_.columns), child)
  } yield read + n * made.map(_.bytes).sum

  private def sum(parts: Seq[Option[Double]]): Option[Double] = all(parts).map(_.sum)
  private def all[T](parts: Seq[Option[T]]): Option[Seq[T]] =
    Option.when(parts.forall(_.isDefined))(parts.flatten)

  private def isText(t: DataType): Boolean = t.isInstanceOf[StringType] || t == BinaryType
}

private[operator] object MostBytes {

  /** Columns that a value is followed to. Projections above each other multiply them, and a value of so many has no useful bound. */
  private val mostValues = 1000

  /** What a value is made of: these columns, each as often as it is listed, and so many more bytes. */
  final private case class Sources(columns: Seq[Attribute], bytes: Double)

  private def sources(e: Expression): Option[Sources] = e match {
    case a: Attribute => Some(Sources(Seq(a), 0))
    case Literal(null, _) => Some(Sources(Nil, 0))
    case Literal(text: UTF8String, _) => Some(Sources(Nil, text.numBytes.toDouble))
    case Alias(child, _) => sources(child)
    case a: AggregateExpression => sources(a.aggregateFunction)
    case _: Max | _: Min | _: First | _: Last => sources(e.children.head)
    case Cast(child, _: StringType | BinaryType, _, _) =>
      child.dataType match {
        case _: StringType | BinaryType => sources(child)
        case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType =>
          Some(Sources(Nil, longestNumber))
        case _ => None
      }
    case _: Substring | _: StringTrim | _: StringTrimLeft | _: StringTrimRight => sources(e.children.head)
    // A letter of two bytes may become three of two.
    case _: Upper | _: Lower =>
      sources(e.children.head).map(s => Sources(Seq.fill(3)(s.columns).flatten, 3 * s.bytes))
    case _: Coalesce | _: Concat | _: Greatest | _: Least => together(e.children)
    case If(_, yes, no) => together(Seq(yes, no))
    case CaseWhen(branches, otherwise) => together(branches.map(_._2) ++ otherwise)
    case _ => None
  }

  private def together(parts: Seq[Expression]): Option[Sources] = {
    val all = parts.map(sources)
    Option.when(all.forall(_.isDefined))(
      Sources(all.flatten.flatMap(_.columns), all.flatten.map(_.bytes).sum)
    )
  }

  /** Of a DECIMAL(38, 38) or a timestamp with its year in nine digits. */
  private val longestNumber = 64.0
}
