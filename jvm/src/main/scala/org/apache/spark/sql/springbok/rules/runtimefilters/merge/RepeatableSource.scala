package org.apache.spark.sql.springbok.rules.runtimefilters.merge

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.springbok.catalyst._
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.{RebuildableTable, TableVersion}

/**
 * Whether the source of a MERGE gives the same rows, as far as its keys go, when it is read twice.
 *
 * '''Relations''' are pinned: files as they were listed, Delta and Iceberg at one version. Rows that are added to a table
 * between the two reads are seen by neither. Anything else may change, such as a view of a stream's batch (an RDD), a cached
 * table, which may be computed anew, or a source of a user.
 *
 * '''Operators and expressions''' are known to give the same rows for the same input in any order. A column is ''loose'' if
 * its values may differ: the result of `first`, a sum of floating-point numbers, the columns that `row_number` lets win. Loose
 * columns may be carried along, but no row and no key may depend on them.
 */
final private[merge] class RepeatableSource(session: SparkSession, target: LogicalPlan) {
  import RepeatableSource._
  private val pins = mutable.Map.empty[LogicalPlan, LogicalPlan]

  /**
   * How to make a plan read what the source reads now.
   *
   * @return
   *   why not, in words, if the source may differ
   */
  def pinned(source: LogicalPlan, keys: Seq[Expression]): Either[String, LogicalPlan => LogicalPlan] =
    for {
      _ <- Either.cond(!isCached(source), (), "it reads cached data")
      columns <- loose(source)
      _ <- Either.cond(!readsAny(keys, columns) && keys.forall(isFixed), (), "its keys may differ")
    } yield { (plan: LogicalPlan) =>
      plan.transformDown { case leaf: LeafNode => pins.getOrElse(leaf, leaf) }
    }

  /** Whether a query reads the same versions of connectors' tables: from Spark 4.1 on, each query loads them anew. */
  def isReadBy(optimized: LogicalPlan): Boolean = {
    val own = pins.values.collect { case r: DataSourceV2Relation => version(r) }.toSet
    optimized.collect { case s: DataSourceV2ScanRelation => version(s.relation) }.forall(own)
  }

  private def version(r: DataSourceV2Relation): (String, Option[String]) =
    (r.table.name, TableVersions.of(r.table))

  private def isCached(source: LogicalPlan): Boolean =
    session.sharedState.cacheManager.useCachedData(source).exists(_.isInstanceOf[InMemoryRelation])

  private def loose(p: LogicalPlan): Either[String, AttributeSet] =
    if (!p.expressions.forall(isFixed)) Left(s"its ${p.nodeName} has expressions that may differ")
    else
      p match {
        case leaf: LeafNode => pin(leaf).map(_ => AttributeSet.empty)
        case _ =>
          val in = p.children.foldLeft[Either[String, AttributeSet]](Right(AttributeSet.empty)) { (all, c) =>
            all.flatMap(columns => loose(c).map(columns ++ _))
          }
          in.flatMap(above(p, _).toRight(s"the rows of its ${p.nodeName} may differ"))
      }

  private def pin(leaf: LogicalPlan): Either[String, Unit] = {
    def table = leaf.collectFirst { case BaseTable(name) => name }.getOrElse(leaf.nodeName)
    if (isTarget(leaf)) Left("it reads the target")
    else
      fixed(leaf, target.isInstanceOf[DataSourceV2Relation])
        .map(pins.put(leaf, _))
        .map(_ => ())
        .toRight(s"$table may change between two reads")
  }

  private def isTarget(leaf: LogicalPlan): Boolean = (leaf, target) match {
    case (FileTable(_, a), FileTable(_, b)) => a.location.rootPaths == b.location.rootPaths
    case (a: DataSourceV2Relation, b: DataSourceV2Relation) => a.table.name == b.table.name
    case _ => false
  }
}

private object RepeatableSource {
  private def readsAny(es: Seq[Expression], columns: AttributeSet): Boolean =
    columns.nonEmpty && es.exists(_.references.exists(columns.contains))

  /** Whether an expression is the same in each query. The functions of aggregates and windows are looked at elsewhere. */
  private def isFixed(e: Expression): Boolean =
    e.deterministic && !e.containsPattern(CURRENT_LIKE) && !e.exists {
      case _: UserDefinedExpression | _: SubqueryExpression | _: CallMethodViaReflection => true
      case f =>
        f.getClass.getName.startsWith("org.apache.spark.sql.catalyst.expressions.objects.") ||
        f.getClass.getName.contains("V2Function")
    }

  /**
   * A relation whose rows are those that it has now.
   *
   * @param oneQuery
   *   whether the statement is planned as a whole: Delta plans several queries, each of which may load a connector's table anew
   */
  private def fixed(leaf: LogicalPlan, oneQuery: Boolean): Option[LogicalPlan] = leaf match {
    case _: LocalRelation | _: OneRowRelation | _: Range => Some(leaf)
    case FileTable(r, fs) =>
      index(fs).map(i => r.copy(relation = fs.copy(location = i)(fs.sparkSession)))
    case r: DataSourceV2Relation =>
      for {
        version <- RebuildableTable.of(r.table).map(_.version(r.table))
        if oneQuery || version != TableVersion.OfTable
        options <- version.pinned(r.options)
      } yield r.copy(options = options)
    case _ => None
  }

  private def index(fs: HadoopFsRelation): Option[FileIndex] = fs.location match {
    case i: InMemoryFileIndex if fs.fileFormat.getClass.getName.startsWith("org.apache.spark.sql.") =>
      Some(new PinnedFiles(i))
    case other => DeltaVersion.pinned(other)
  }

  /** Loose columns of an operator's output, from those of its inputs; None if its rows depend on them or are not known. */
  private def above(p: LogicalPlan, in: AttributeSet): Option[AttributeSet] = p match {
    case Project(list, _) => Some(computed(list, in))
    case a: Aggregate if !readsAny(a.groupingExpressions, in) =>
      Some(computed(a.aggregateExpressions, in, differs))
    case d: Deduplicate if !readsAny(d.keys, in) => Some(AttributeSet(d.child.output) -- d.keys)
    case w: Window if !readsAny(w.partitionSpec ++ w.orderSpec, in) =>
      if (w.windowExpressions.forall(SameInAnyOrder.inWindow)) Some(in ++ computed(w.windowExpressions, in))
      else if (w.windowExpressions.forall(isRowNumber))
        // In each partition, one row has each number, but it may be another one.
        Some(AttributeSet(w.child.output) -- AttributeSet(w.partitionSpec.collect { case a: Attribute => a }))
      else None
    case u: Union =>
      val at = u.children.flatMap(c => c.output.indices.filter(i => in.contains(c.output(i)))).toSet
      Some(AttributeSet(u.output.zipWithIndex.collect { case (a, i) if at(i) => a }))
    case _: Filter | _: Join | _: SubqueryAlias | _: View | _: ResolvedHint =>
      Option.when(!readsAny(p.expressions, in))(in)
    case _: Sort | _: RepartitionOperation => Some(in)
    case _: Distinct => Option.when(in.isEmpty)(in)
    case _ => None
  }

  private def computed(
      list: Seq[NamedExpression],
      loose: AttributeSet,
      differs: Expression => Boolean = _ => false
  ): AttributeSet = AttributeSet(
    list.filter(e => readsAny(Seq(e), loose) || e.exists(differs)).map(_.toAttribute)
  )

  private def differs(e: Expression): Boolean = e match {
    case a: AggregateExpression => !SameInAnyOrder(a.aggregateFunction)
    case _ => false
  }

  private def isRowNumber(e: Expression): Boolean = e match {
    case Alias(WindowExpression(_: RowNumber, _), _) => true
    case _ => false
  }
}

/** Files as another index has listed them. That one may be listed again while a statement runs, if the session writes to it. */
final private[merge] class PinnedFiles(of: InMemoryFileIndex)
    extends PartitioningAwareFileIndex(SparkSession.active, Map.empty, None) {
  override val rootPaths: Seq[Path] = of.rootPaths
  private val spec = of.partitionSpec()
  private val files = of.allFiles()

  override def partitionSpec(): PartitionSpec = spec
  override def allFiles(): Seq[FileStatus] = files
  override def refresh(): Unit = ()
  override protected val leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
    mutable.LinkedHashMap(files.map(f => f.getPath -> f): _*)
  override protected val leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
    files.toArray.groupBy(_.getPath.getParent)
}
