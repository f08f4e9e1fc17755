package org.apache.spark.sql.springbok.stats.source

import java.lang.ref.SoftReference

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode, Literal}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.Interrupted
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.stats.estimate.Estimate
import org.apache.spark.sql.types.StructType

/**
 * The files and partitions of a table, also of one whose partitions the catalog keeps and that Spark lists only when the
 * scan starts: such a table is listed once, through the cache of file listings that the scan reads as well.
 */
private[springbok] object PartitionListing extends Logging {

  /** A listing, which may be large and leads to its session: it goes when memory is short. */
  final private case class Listed(until: Long, listing: Option[SoftReference[PartitioningAwareFileIndex]]) {
    def files: Option[Option[PartitioningAwareFileIndex]] = {
      val found = listing.map(_.get())
      Option.when(System.nanoTime() - until < 0 && !found.contains(null))(found)
    }
  }

  /** Listings by the table's index, which the session keeps until the table is changed or refreshed. */
  private val listed = new ByIdentity[FileIndex, Listed]

  /** How long what others add to a table may stay unseen. */
  private val validNs = 600L * 1000000000

  /** How long a catalog that fails is not asked again: by then a query's rules have asked. */
  private val failedNs = 3L * 1000000000

  /** The listing; None if there is none to be had, or the catalog has too many partitions to list. */
  def of(index: FileIndex): Option[PartitioningAwareFileIndex] = index match {
    case p: PartitioningAwareFileIndex => Some(p)
    case c: CatalogFileIndex =>
      listed.get(c).flatMap(_.files).getOrElse {
        val (files, forNs) = list(c)
        listed.put(c, Listed(System.nanoTime() + forNs, files.map(new SoftReference(_))))
        files
      }
    case _ => None
  }

  /** The listing, and how long it is valid. */
  private def list(c: CatalogFileIndex): (Option[PartitioningAwareFileIndex], Long) =
    try {
      val catalog = SparkSession.active.sessionState.catalog
      val most = SQLConf.get.getConf(SpringbokConf.FOOTERS_MAX_PARTITIONS)
      val few = c.table.partitionColumnNames.isEmpty ||
        catalog.listPartitionNames(c.table.identifier).size <= most
      Option.when(few)(c.filterPartitions(Nil)) -> validNs
    } catch {
      case e @ Interrupted() => throw e
      case NonFatal(e) =>
        logDebug(s"The partitions of ${c.table.identifier} cannot be listed: no statistics of it.", e)
        None -> failedNs
    }

  /** What the partitions of an index say, as long as they are these ones. */
  private val columns = new ByIdentity[FileIndex, (PartitionSpec, Map[String, PartitionColumn])]

  /** What partitions say of the columns that they are made by. */
  def columns(relation: HadoopFsRelation): Map[String, PartitionColumn] =
    if (relation.partitionSchema.isEmpty) Map.empty
    else
      of(relation.location).map(listedColumns).getOrElse {
        TableFiles
          .named(relation.location)
          .fold(Map.empty[String, PartitionColumn])(
            namedColumns(_, relation.partitionSchema)
          )
      }

  private def listedColumns(index: PartitioningAwareFileIndex): Map[String, PartitionColumn] = {
    val spec = index.partitionSpec()
    columns.get(index).filter(_._1 eq spec).map(_._2).getOrElse {
      val found = spec.partitionColumns.zipWithIndex.flatMap { case (field, i) =>
        column(spec.partitions.map(_.values.get(i, field.dataType))).map(field.name -> _)
      }.toMap
      columns.put(index, spec -> found)
      found
    }
  }

  /** From the paths of files, each partition counted once; paths that do not name every column say nothing. */
  private def namedColumns(files: TableFiles, schema: StructType): Map[String, PartitionColumn] = {
    val zone = SQLConf.get.sessionLocalTimeZone
    val folders = (0 until files.size).iterator.map(files(_).path.getParent.toString).toSet
    val parts = folders.toSeq.map(
      _.split('/').iterator
        .filter(_.contains('='))
        .map { part =>
          val (name, value) = part.splitAt(part.indexOf('='))
          ExternalCatalogUtils.unescapePathName(name) -> ExternalCatalogUtils.unescapePathName(value.drop(1))
        }
        .toMap
    )
    schema.flatMap { field =>
      val texts = parts.map(_.get(field.name))
      val values = texts.flatten.map {
        case ExternalCatalogUtils.DEFAULT_PARTITION_NAME => null
        case text => Cast(Literal(text), field.dataType, Some(zone), EvalMode.TRY).eval()
      }
      if (texts.forall(_.isDefined)) column(values).map(field.name -> _) else None
    }.toMap
  }

  private def column(values: Seq[Any]): Option[PartitionColumn] = Option.when(values.nonEmpty) {
    val present = values.filter(_ != null)
    val numbers = present.flatMap(Estimate.number)
    PartitionColumn(
      present.distinct.size.toDouble,
      Option.when(numbers.nonEmpty && numbers.size == present.size)(
        ParquetFooters.Range(numbers.min, numbers.max)
      ),
      (values.size - present.size).toDouble / values.size
    )
  }
}

/** Distinct values, their range, and the part of all partitions whose value is null. */
final private[springbok] case class PartitionColumn(
    distinct: Double,
    range: Option[ParquetFooters.Range],
    nulls: Double
)
