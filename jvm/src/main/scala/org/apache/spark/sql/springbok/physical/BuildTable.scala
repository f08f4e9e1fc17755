package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.springbok.{
  AppliedRuntimeFilterExec,
  RuntimeFilterExec,
  SummarizeKeysExec
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.SelfContained
import org.apache.spark.sql.springbok.keys.BuildKey
import org.apache.spark.sql.springbok.keys.kept.{FileListing, KeysSource}
import org.apache.spark.sql.springbok.stats.source.OrcFooters

/**
 * A build side that is one table of files with conditions.
 *
 * @param source
 *   what its key is computed from. It says nothing of filters of other joins
 * @param listing
 *   the files that the query reads
 * @param complete
 *   whether no filter of another join removes rows: only then are its keys all keys of its source
 */
final private[sql] case class BuildTable(
    source: KeysSource,
    listing: FileListing,
    complete: Boolean
)

private[sql] object BuildTable extends PredicateHelper {

  /**
   * The build side under an exchange, or under the exchange of a stage; None if it is anything but filters and projections
   * of a table of Parquet, ORC or Delta without partitions, or if a file that cannot be read does not fail the query.
   */
  def of(exchange: SparkPlan, key: BuildKey, conf: SQLConf): Option[BuildTable] = {
    val e = SummarizeKeysExec.exchangeOf(exchange)
    val output = e.output
    // A later planning may build the other side.
    def fits = !key.expression.exists {
      case r: BoundReference => !output.lift(r.ordinal).exists(_.dataType == r.dataType)
      case _ => false
    }
    if (conf.ignoreCorruptFiles || conf.ignoreMissingFiles || !fits) None
    else {
      val top = key.expression.transformUp { case r: BoundReference => output(r.ordinal) }
      e.children.headOption.flatMap(down(_, Computed(top))).flatMap(made(_, conf))
    }
  }

  /**
   * The key and the conditions in terms of the columns of an operator.
   *
   * @param filtered
   *   whether a filter of another join was passed
   */
  final private case class Computed(
      key: Expression,
      conjuncts: Seq[Expression] = Nil,
      filtered: Boolean = false
  ) {
    def where(condition: Expression): Computed =
      copy(conjuncts = conjuncts ++ splitConjunctivePredicates(condition))

    def below(list: Seq[NamedExpression]): Computed = {
      val made = list.collect { case a: Alias => a.exprId -> a.child }.toMap
      def replaced(e: Expression) = e.transformUp { case a: Attribute => made.getOrElse(a.exprId, a) }
      copy(key = replaced(key), conjuncts = conjuncts.map(replaced))
    }
  }

  private def down(p: SparkPlan, c: Computed): Option[(FileSourceScanExec, Computed)] = p match {
    case ProjectExec(list, child) => down(child, c.below(list))
    case FilterExec(condition, child) => down(child, c.where(condition))
    case f: RuntimeFilterExec => down(f.child, c.copy(filtered = true))
    case f: AppliedRuntimeFilterExec => down(f.child, c.copy(filtered = true))
    case _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowExec | _: SummarizeKeysExec =>
      down(p.children.head, c)
    case s: FileSourceScanExec if s.getClass == classOf[FileSourceScanExec] => Some(s -> c)
    case _ => None
  }

  private def made(found: (FileSourceScanExec, Computed), conf: SQLConf): Option[BuildTable] = {
    val (scan, c) = found
    val r = scan.relation
    val names = r.dataSchema.fieldNames
    // The scan names columns as the table does.
    val positions = scan.output.map(a => a.exprId -> names.indexOf(a.name)).filter(_._2 >= 0).toMap
    def bound(e: Expression) = e.transformUp {
      case a: Attribute if positions.contains(a.exprId) =>
        BoundReference(positions(a.exprId), a.dataType, nullable = true)
    }
    val (key, conjuncts) = (bound(c.key), c.conjuncts.map(bound).toSet)
    for {
      format <- reader(r)
      listing <- FileListing.of(r.location) if r.partitionSchema.isEmpty
      if names.distinct.length == names.length && (conjuncts + key).forall(SelfContained(_))
      table = KeysSource.Table(format, listing.roots, r.dataSchema, r.options)
      source = KeysSource(table, conjuncts, key, KeysSource.settings(conf))
      if source.size <= KeysSource.mostParts
    } yield {
      val told = scan.dataFilters.flatMap(splitConjunctivePredicates).map(bound)
      val whole = scan.partitionFilters.isEmpty && scan.optionalBucketSet.isEmpty && told.forall(conjuncts)
      BuildTable(source, listing, whole && !c.filtered)
    }
  }

  /** What reads the table's files, if it reads each of them as a whole. */
  private def reader(r: HadoopFsRelation): Option[AnyRef] = {
    val format = r.fileFormat
    val lenient = r.options.keys.exists(o => lenientOptions.exists(_.equalsIgnoreCase(o)))
    format.getClass match {
      case _ if lenient => None
      case c if c == classOf[ParquetFileFormat] => Some(c)
      // An application's Hadoop settings, which tell it, are no part of the source.
      case c if c == classOf[OrcFileFormat] && !OrcFooters.readByPosition(r) => Some(c)
      case c if c.getName == "org.apache.spark.sql.delta.DeltaParquetFileFormat" => Some(format)
      case _ => None
    }
  }

  /** Readers that leave out files may leave out others when the query runs again. */
  private val lenientOptions = Seq("ignoreCorruptFiles", "ignoreMissingFiles")
}
