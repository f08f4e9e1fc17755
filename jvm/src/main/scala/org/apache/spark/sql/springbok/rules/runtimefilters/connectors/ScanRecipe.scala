package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{
  Scan,
  ScanBuilder,
  SupportsPushDownRequiredColumns,
  SupportsPushDownV2Filters
}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy
import org.apache.spark.sql.springbok.catalyst.Interrupted
import org.apache.spark.sql.springbok.reason.Reason
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
final private[connectors] case class ScanRecipe(
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

private[connectors] object ScanRecipe {
  private val known = ByIdentity[Scan, ScanRecipe]()

  def remember(scan: Scan, recipe: ScanRecipe): Unit = known.put(scan, recipe)

  def of(scan: Scan): Option[ScanRecipe] = Option(known.getIfPresent(scan))
}
