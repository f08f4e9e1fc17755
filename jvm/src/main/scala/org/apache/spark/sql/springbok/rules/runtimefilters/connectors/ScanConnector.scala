package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.{FileSourceScanExec, RowDataSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.springbok.keys.{FilterKey, KeyPredicates}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.rules.runtimefilters.{
  FilterWorth,
  FinishedKeys,
  PushableKeys,
  PushedFilter
}
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.types.DataType

/**
 * How runtime filters reach the scans of one kind of source. Each kind has a class of its own, which says what its scans can
 * leave out and why the answer cannot change. `docs/contribute/connectors.md` says what a connector has to do for it.
 *
 * A scan may leave out rows that have none of the keys, and need not leave out any: the join removes the others.
 */
private[springbok] trait ScanConnector {

  /** The fraction of the scan that is expected to be left out if few keys are asked for, 0 if the scan takes none. */
  def skips(column: Attribute, stats: PlanStats): Double

  /** The keys in the form that the scan takes, or why it is told nothing of them. */
  def push(column: Attribute, keys: PushableKeys, filter: ScanConnector.Filter): Either[Reason, PushedFilter]
}

private[springbok] object ScanConnector {

  /**
   * What is known of a filter that a scan may be told of.
   *
   * @param keyType
   *   the type of the keys, which the column may be narrower than
   * @param alone
   *   whether nothing else in the query reads through the same scan object or writes what it reads
   * @param regardless
   *   whether the filter is used whatever it costs
   * @param retained
   *   the fraction of the scan's rows that is expected to pass
   * @param cores
   *   the cores of the cluster
   */
  final case class Filter(
      keyType: DataType,
      alone: Boolean,
      regardless: Boolean,
      retained: Double,
      cores: Int,
      conf: SQLConf
  )

  object Filter {

    /** A filter whose build side has finished. */
    def of(keys: FinishedKeys, key: Expression, worth: FilterWorth, conf: SQLConf): Filter = Filter(
      keyType = key.dataType,
      alone = worth.filter.pushable,
      regardless = worth.regardless,
      retained = worth.expected(keys.retained(worth.filter.domain)),
      cores = Cluster.of(SparkSession.active.sparkContext, conf).cores,
      conf = conf
    )
  }

  /** A filter on this key as the scan takes it, if the scan can skip something by it. */
  def push(
      scan: SparkPlan,
      key: Expression,
      told: PushableKeys,
      filter: Filter
  ): Either[Reason, PushedFilter] =
    onColumn(scan, key, told).flatMap { case (column, keys) => of(scan).push(column, keys, filter) }

  /** A column of the scan, and what the scan is told of its values. */
  private def onColumn(
      scan: SparkPlan,
      key: Expression,
      told: PushableKeys
  ): Either[Reason, (Attribute, PushableKeys)] =
    FilterKey.column(key, scan) match {
      case Some(a) => Right(a -> told)
      case None =>
        for {
          linear <- FilterKey.linear(key, scan).toRight(Reason.noScanColumn)
          same <- told.on(linear).toRight(Reason.keysNotTaken)
        } yield linear.column -> same
    }

  def of(scan: SparkPlan): ScanConnector = scan match {
    case s: FileSourceScanExec => new FileConnector(s)
    case b: BatchScanExec => BatchConnector(b)
    case r: RowDataSourceScanExec => JdbcScan.of(r)
    case other => new RowsOnly(Reason.scanTakesNone(other.nodeName.trim))
  }
}

/** Scans that are told of no filter: their rows are tested one by one. */
final private[connectors] class RowsOnly(why: Reason) extends ScanConnector {
  override def skips(column: Attribute, stats: PlanStats): Double = 0

  override def push(
      column: Attribute,
      keys: PushableKeys,
      filter: ScanConnector.Filter
  ): Either[Reason, PushedFilter] = Left(why)
}

/**
 * Files that Spark itself reads, also those that the log of a Delta table names: see [[FilePruning]]. Delta's file index
 * skips files by the predicates that Spark hands to the scan.
 *
 * '''Why the answer cannot change''': the predicate is one more filter on the scan, as if the query had it.
 */
final private[connectors] class FileConnector(scan: FileSourceScanExec) extends ScanConnector {
  override def skips(column: Attribute, stats: PlanStats): Double =
    if (PrunableColumns.partitions(scan, column, SQLConf.get)) 1.0
    else stats.footers(scan.relation).flatMap(_.clustering(column.name)).getOrElse(0.0)

  override def push(
      column: Attribute,
      keys: PushableKeys,
      filter: ScanConnector.Filter
  ): Either[Reason, PushedFilter] = {
    val pruning = new FilePruning(scan, column, filter.keyType, filter.conf, keys.anyway)
    val found = keys match {
      case PushableKeys.Keys(facts, _) => pruning.of(facts, filter.regardless)
      case PushableKeys.Bound(c, value, _) => pruning.bound(c, value, filter.regardless)
    }
    found
      .map(f => f.copy(predicate = KeyPredicates.orWithin(column, f.predicate, keys.anyway)))
      .toRight(Reason.nothingSkipped)
  }
}

/**
 * A scan of Spark's connector API. It is told in the first way that it allows: built again, which skips most, or filtering
 * itself when it starts. If its files lie by the very values of the column, its own filtering skips as much and costs less.
 */
private[connectors] object BatchConnector {
  def apply(b: BatchScanExec): ScanConnector =
    (rebuilt(b), b.scan) match {
      case (Some(r), _: SupportsRuntimeV2Filtering) => new Both(r, new OwnFiltering(b), b)
      case (Some(r), _) => r
      case (None, _: SupportsRuntimeV2Filtering) => new OwnFiltering(b)
      case _ => new RowsOnly(Reason.scanTakesNone(b.table.name))
    }

  private def rebuilt(b: BatchScanExec): Option[RebuiltScan] = b.table match {
    // Its commit replaces what this very scan has read.
    case _: RowLevelOperationTable => None
    case table => RebuildableTable.of(table).map(new RebuiltScan(b, _))
  }

  final private class Both(again: ScanConnector, own: ScanConnector, b: BatchScanExec) extends ScanConnector {
    override def skips(column: Attribute, stats: PlanStats): Double =
      math.max(again.skips(column, stats), own.skips(column, stats))

    override def push(
        column: Attribute,
        keys: PushableKeys,
        filter: ScanConnector.Filter
    ): Either[Reason, PushedFilter] = {
      val ways =
        if (PrunableColumns.identity(b.table, column)) Seq(own, again) else Seq(again, own)
      ways.head.push(column, keys, filter) match {
        case Left(why) => ways.last.push(column, keys, filter).left.map(_ => why)
        case pushed => pushed
      }
    }
  }
}
