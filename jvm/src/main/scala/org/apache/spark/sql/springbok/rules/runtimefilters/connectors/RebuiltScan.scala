package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.springbok.catalyst.ScanRows
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.rules.runtimefilters.{PushableKeys, PushedFilter, PushWay}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

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
      val read = rows.toDouble * b.output.size * FilterCost.decode / 1e6 / filter.cores
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
