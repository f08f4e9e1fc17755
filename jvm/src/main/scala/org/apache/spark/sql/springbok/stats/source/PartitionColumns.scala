package org.apache.spark.sql.springbok.stats.source

import com.google.common.cache.{Cache, CacheBuilder}
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.unescapePathName
import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode, Literal}
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, ValueRange}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * What a table's partitions tell of a column that it is partitioned by.
 *
 * @param distinct
 *   number of distinct values
 * @param nulls
 *   fraction of all partitions whose value is null
 * @param longest
 *   bytes of the longest text
 */
final private[springbok] case class PartitionColumn(
    distinct: Double,
    range: Option[ValueRange],
    nulls: Double,
    longest: Option[Long]
)

/** The columns that a table is partitioned by: from its listing, or from the paths of its files. */
private[springbok] object PartitionColumns {

  /** What the partitions of an index tell, as long as they are these ones. */
  private val known = ByIdentity[FileIndex, (PartitionSpec, Map[String, PartitionColumn])]()

  /** By the names of the columns; without those of which the partitions tell nothing. */
  def of(relation: HadoopFsRelation): Map[String, PartitionColumn] =
    if (relation.partitionSchema.isEmpty) Map.empty
    else
      PartitionListing.of(relation.location).map(listed).getOrElse {
        TableFiles
          .named(relation.location)
          .fold(Map.empty[String, PartitionColumn])(fromPaths(_, relation.partitionSchema))
      }

  private def listed(index: PartitioningAwareFileIndex): Map[String, PartitionColumn] = {
    val spec = index.partitionSpec()
    Option(known.getIfPresent(index)).filter(_._1 eq spec).map(_._2).getOrElse {
      val found = spec.partitionColumns.zipWithIndex.flatMap { case (field, i) =>
        column(spec.partitions.map(_.values.get(i, field.dataType))).map(field.name -> _)
      }.toMap
      known.put(index, spec -> found)
      found
    }
  }

  /** Each partition counts once. Paths that do not name every column tell nothing. */
  private def fromPaths(files: TableFiles, schema: StructType): Map[String, PartitionColumn] = {
    val zone = SQLConf.get.sessionLocalTimeZone
    val folders = (0 until files.size).iterator.map(files(_).path.getParent.toString).toSet
    val partitions = folders.toSeq.map(namesAndValues)
    schema.flatMap { field =>
      val texts = partitions.map(_.get(field.name))
      val values = texts.flatten.map {
        case ExternalCatalogUtils.DEFAULT_PARTITION_NAME => null
        case text => Cast(Literal(text), field.dataType, Some(zone), EvalMode.TRY).eval()
      }
      if (texts.forall(_.isDefined)) column(values).map(field.name -> _) else None
    }.toMap
  }

  private def namesAndValues(folder: String): Map[String, String] =
    folder
      .split('/')
      .iterator
      .filter(_.contains('='))
      .map { part =>
        val (name, value) = part.splitAt(part.indexOf('='))
        unescapePathName(name) -> unescapePathName(value.drop(1))
      }
      .toMap

  private def column(values: Seq[Any]): Option[PartitionColumn] = Option.when(values.nonEmpty) {
    val present = values.filter(_ != null)
    val numbers = present.flatMap(Estimate.number)
    PartitionColumn(
      present.distinct.size.toDouble,
      Option.when(numbers.nonEmpty && numbers.size == present.size)(ValueRange(numbers.min, numbers.max)),
      (values.size - present.size).toDouble / values.size,
      present.collect { case t: UTF8String => t.numBytes.toLong }.maxOption
    )
  }
}

/** Guava stands unshaded on the class path of every Spark from 3.5 on, for Hadoop and Hive. */
private[springbok] object ByIdentity {

  /**
   * What is known of objects for as long as others hold them, each by itself: two indexes of a table are equal whatever
   * files they have, or compare all their files.
   */
  def apply[K <: AnyRef, V <: AnyRef](): Cache[K, V] = CacheBuilder.newBuilder().weakKeys().build[K, V]()

  /** Remembers for an object what is known of an equal one, if anything is. */
  def carry[K <: AnyRef, V <: AnyRef](known: Cache[K, V], from: K, to: K): Unit =
    Option(known.getIfPresent(from)).foreach(known.put(to, _))
}

/** Partition columns whose values the reader of a table takes from the folders of its files. */
private[springbok] object FolderColumns {

  /**
   * Their names. Readers of other table formats may take a column from the files, where it may differ: with some key generators,
   * Hudi keeps rows of `2018-09-23` in the folder `2018/09/23`.
   */
  def of(table: HadoopFsRelation): Seq[String] = {
    val index = table.location
    val trusted = !TableFiles.namedByLog(index) || index.getClass.getName.startsWith(TableFiles.delta)
    if (trusted) table.partitionSchema.fieldNames.toSeq else Nil
  }
}
