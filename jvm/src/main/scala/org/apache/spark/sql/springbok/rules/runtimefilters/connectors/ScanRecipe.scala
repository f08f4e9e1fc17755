package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning
import org.apache.spark.sql.connector.catalog.{SupportsMetadataColumns, SupportsRead, Table}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{
  Scan,
  ScanBuilder,
  SupportsPushDownRequiredColumns,
  SupportsPushDownV2Filters,
  SupportsReportStatistics
}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2Strategy}
import org.apache.spark.sql.springbok.catalyst.{Interrupted, ScanRows}
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.cost.CostConstants
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.rules.runtimefilters.{PushableKeys, PushedFilter, PushWay}
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.springbok.stats.source.ByIdentity
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * How Spark has built a scan, so that it can be built again with one more predicate.
 *
 * @param filters
 *   the query's own, in the order in which Spark has pushed them
 * @param added
 *   runtime filters that were added since
 * @param first
 *   the scan that Spark has built, None for that scan itself
 * @param plannedMs
 *   the time that it took to plan the scan the last time it was built again, in ms
 */
final private[runtimefilters] case class ScanRecipe(
    table: Table,
    options: CaseInsensitiveStringMap,
    filters: Seq[Expression],
    version: TableVersion,
    added: Seq[Expression] = Nil,
    first: Option[Scan] = None,
    plannedMs: Double = 0
) {

  /**
   * The scan with one more predicate, its partitions planned, so that nothing can fail later that would not have failed.
   *
   * Two scans are built. The first one has what Spark's had, and must equal it. If it does, everything that the connector
   * looks at is known, and so the second one, which has the predicate as well, reads the same rows but those that the
   * predicate rules out.
   */
  def withFilter(scan: Scan, filter: Expression): Either[Reason, Scan] =
    guarded {
      for {
        pinned <- version.pinned(options).toRight(Reason.versionUnknown)
        asked <- DataSourceV2Strategy.translateFilterV2(filter).toRight(Reason.keysNotTaken)
        same <- build(options, translated(filters), scan.readSchema).toRight(Reason.scanTakesNone(table.name))
        _ <- Either.cond(same._1 == first.getOrElse(scan), (), Reason.scanDiffers)
        predicates = translated(filters ++ added) :+ asked
        again <- build(pinned, predicates, scan.readSchema).toRight(Reason.scanTakesNone(table.name))
        _ <- Either.cond(again._2.contains(asked), (), Reason.keysNotTaken)
        _ <- Either.cond(sameForm(scan, again._1), (), Reason.scanDiffers)
      } yield {
        val built = again._1
        val start = System.nanoTime()
        built.toBatch.planInputPartitions(): Unit
        val ms = (System.nanoTime() - start) / 1e6
        val next = copy(added = added :+ filter, first = first.orElse(Some(scan)), plannedMs = ms)
        ScanRecipe.remember(built, next)
        built
      }
    }

  /** Whether the connector compares the values of a column as Spark does. */
  def compares(known: RebuildableTable, column: Attribute, read: StructType): Either[Reason, Unit] =
    guarded {
      val same = read.find(_.name == column.name).exists(known.compares(table, column, _, takes))
      Either.cond(same, (), Reason.comparesOtherwise(column.name))
    }

  /** The rows of a scan without filters; None if the connector does not say. */
  def expectedRows(columns: StructType): Option[Double] =
    build(options, Nil, columns)
      .collect { case (s: SupportsReportStatistics, _) => s.estimateStatistics.numRows }
      .filter(_.isPresent)
      .map(_.getAsLong.toDouble)

  private def takes(filter: Expression): Boolean =
    build(options, translated(Seq(filter)), new StructType).exists(_._2.nonEmpty)

  private def guarded[T](body: => Either[Reason, T]): Either[Reason, T] =
    try body
    catch {
      case e @ Interrupted() => throw e
      case NonFatal(e) => Left(Reason.rebuildFailed(e.getClass.getSimpleName))
    }

  private def sameForm(a: Scan, b: Scan): Boolean = a.getClass == b.getClass && a.readSchema == b.readSchema

  private def translated(es: Seq[Expression]): Seq[Predicate] =
    es.flatMap(DataSourceV2Strategy.translateFilterV2)

  /** The scan, and the predicates that the connector looks at. */
  private def build(
      options: CaseInsensitiveStringMap,
      predicates: Seq[Predicate],
      columns: StructType
  ): Option[(Scan, Seq[Predicate])] = table match {
    case readable: SupportsRead =>
      readable.newScanBuilder(options) match {
        case b: ScanBuilder with SupportsPushDownV2Filters with SupportsPushDownRequiredColumns =>
          b.pushPredicates(predicates.toArray): Unit
          b.pruneColumns(columns)
          Some((b.build(), b.pushedPredicates.toSeq))
        case _ => None
      }
    case _ => None
  }
}

private[runtimefilters] object ScanRecipe {
  private val known = ByIdentity[Scan, ScanRecipe]()

  def remember(scan: Scan, recipe: ScanRecipe): Unit = known.put(scan, recipe)

  def of(scan: Scan): Option[ScanRecipe] = Option(known.getIfPresent(scan))
}

/**
 * Scans that the connector builds again, with the filter as one more predicate of the query. So the connector skips files by
 * what it knows of them, and its readers skip parts of files.
 *
 * {{{
 *   RuntimeFilter RF000 -> day                RuntimeFilter RF000[in] -> day
 *   :- BatchScan fact, filters=v > 7     =>   +- BatchScan fact, filters=v > 7, day IN (3, 4)
 *   +- ShuffleQueryStage 0
 * }}}
 *
 * '''When''': the table is a [[RebuildableTable]]; the scan reads no metadata columns, such as a row's position; the plan does
 * not rely on how the scan partitions or sorts its rows; reading less is expected to save more than planning the scan costs,
 * which is known once a filter has been added.
 *
 * '''Why the answer cannot change''': the scan reads the same version, with the same filters and columns, which
 * [[ScanRecipe]] proves. It leaves out only rows that the predicate rules out, and these have no match. If anything differs
 * or fails, the first scan stays.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
final private[connectors] class RebuiltScan(b: BatchScanExec, table: RebuildableTable) extends ScanConnector {

  /** How much of a table its files' bounds leave out is not known. */
  override def skips(column: Attribute, stats: PlanStats): Double = RebuiltScan.unknownPart

  override def push(
      column: Attribute,
      keys: PushableKeys,
      filter: ScanConnector.Filter
  ): Either[Reason, PushedFilter] =
    for {
      recipe <- ScanRecipe.of(b.scan).toRight(Reason.scanUnknown)
      _ <- Either.cond(table.allows(b.scan), (), Reason.scanTakesNone(b.scan.getClass.getSimpleName))
      _ <- Either.cond(!readsMetadata, (), Reason.readsMetadata)
      _ <- Either.cond(!reliedOn, (), Reason.partitioningUsed)
      _ <- worth(filter, recipe.plannedMs)
      _ <- recipe.compares(table, column, b.scan.readSchema)
      _ <- Either.cond(keys.areAscii, (), Reason.keysNotTaken)
      asked <- keys
        .predicate(column)(ListOrRanges.of(column, _, table.longestList, filter))
        .toRight(Reason.keysNotTaken)
      built <- recipe.withFilter(b.scan, asked._2)
    } yield PushedFilter(asked._1, asked._2, PushWay.BuiltAgain(b.scan, built))

  private def readsMetadata: Boolean = b.table match {
    case t: SupportsMetadataColumns =>
      val metadata = t.metadataColumns.map(_.name).toSet -- t.columns.map(_.name)
      b.scan.readSchema.fieldNames.exists(metadata.contains)
    case _ => false
  }

  /** Whether the plan may rely on where the scan's rows lie, or on their order. */
  private def reliedOn: Boolean =
    !b.outputPartitioning.isInstanceOf[UnknownPartitioning] || b.outputOrdering.nonEmpty

  /** Rows that are not read save at least their decoding. What they save further on is not counted: a row test saves it too. */
  private def worth(filter: ScanConnector.Filter, plannedMs: Double): Either[Reason, Unit] = {
    val planning = if (plannedMs < RebuiltScan.quickMs) 0.0 else plannedMs
    val least = math.max(filter.conf.getConf(FilterConf.MIN_BENEFIT_MS).toDouble, planning)
    ScanRows(b.scan).filterNot(_ => filter.regardless).fold[Either[Reason, Unit]](Right(())) { rows =>
      val read = rows.toDouble * b.output.size * CostConstants.decodeNs / 1e6 / filter.cores
      val benefit = (1 - filter.retained) * read
      Either.cond(benefit >= least, (), Reason.smallBenefit(benefit, least))
    }
  }
}

private[connectors] object RebuiltScan {

  /** The part of a scan that is assumed to be left out. */
  val unknownPart = 0.5

  /** Planning a scan in less time than this in ms is not charged for. */
  private val quickMs = 100.0
}
