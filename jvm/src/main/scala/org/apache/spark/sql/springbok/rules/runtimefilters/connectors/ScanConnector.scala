package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{FileSourceScanExec, RowDataSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.cost.Cluster
import org.apache.spark.sql.springbok.keys.FilterKey
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
      alone = worth.info.pushable,
      regardless = worth.regardless,
      retained = worth.expected(keys.retained(worth.info.domain)),
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
