package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, Expression, Literal}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{FileSourceScanExec, RowDataSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.CatalogFileIndex
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.springbok.catalyst.ScanCopies
import org.apache.spark.util.collection.BitSet

/** How a scan is told of a filter. */
sealed private[springbok] trait PushWay {

  /** The name in reports. */
  def name: String

  /** What the scan skips beside what the predicate says. */
  def kinds: Seq[String] = Nil

  /** The scan with the predicate. */
  def into(predicate: Expression): PartialFunction[SparkPlan, SparkPlan]
}

private[springbok] object PushWay {

  /** The kind of a filter that skips buckets. */
  val buckets = "buckets"

  /**
   * The predicate is one on what files hold.
   *
   * @param read
   *   the buckets to read, None for all
   * @param option
   *   an option that the scan's reader gets with the predicate
   */
  final case class FileData(read: Option[BitSet] = None, option: Option[(String, String)] = None)
      extends PushWay {
    override def name: String = "files"
    override def kinds: Seq[String] = read.map(_ => buckets).toSeq
    override def into(predicate: Expression): PartialFunction[SparkPlan, SparkPlan] = {
      case scan: FileSourceScanExec =>
        val some = read.fold(scan)(ScanCopies.withBuckets(scan, _))
        val s = option.fold(some) { case (key, value) => ScanCopies.withOption(some, key, value) }
        ScanCopies.withFilters(s, s.dataFilters :+ predicate, s.partitionFilters)
    }
  }

  /** The predicate is one on partitions. */
  case object FilePartitions extends PushWay {
    override def name: String = "partitions"
    override def into(predicate: Expression): PartialFunction[SparkPlan, SparkPlan] = {
      case s: FileSourceScanExec =>
        ScanCopies.withFilters(s, s.dataFilters, s.partitionFilters :+ onDriver(s, predicate))
    }

    /** In a form that only the driver evaluates. The metastore fails on long lists, and compares strings by a collation. */
    private def onDriver(scan: FileSourceScanExec, predicate: Expression): Expression =
      scan.relation.location match {
        case _: CatalogFileIndex => EqualNullSafe(predicate, Literal.TrueLiteral)
        case _ => predicate
      }
  }

  /**
   * The connector's scan filters itself when it starts.
   *
   * @param taken
   *   the predicate in the form that this Spark hands to a scan
   */
  final case class OwnFiltering(taken: Expression) extends PushWay {
    override def name: String = "connector"
    override def into(predicate: Expression): PartialFunction[SparkPlan, SparkPlan] = {
      case b: BatchScanExec => ScanCopies.withRuntimeFilter(b, taken)
    }
  }

  /** The connector has built the scan again, with the predicate. */
  final case class BuiltAgain(before: Scan, after: Scan) extends PushWay {
    override def name: String = "rebuilt"
    override def into(predicate: Expression): PartialFunction[SparkPlan, SparkPlan] = {
      case b: BatchScanExec if b.scan eq before => ScanCopies.withScan(b, after)
    }
  }

  /** The query that a database gets has one more condition. */
  final case class RemoteQuery(table: RemoteTable, condition: Filter) extends PushWay {
    override def name: String = "query"
    override def into(predicate: Expression): PartialFunction[SparkPlan, SparkPlan] = {
      case s: RowDataSourceScanExec =>
        val all = s.filters + condition
        ScanCopies.withConditions(s, all, table.rows(s, all))
    }
  }
}

/**
 * A filter as a predicate on a column of a scan. The scan skips partitions, files, row groups and pages by it.
 *
 * @param kind
 *   `in` (every key), `ranges` (several ranges that hold all keys), `minmax`, `min`, `max`, or `buckets` if the scan skips
 *   nothing but buckets
 * @param way
 *   how the scan is told
 * @param rowGroups
 *   how many row groups are pruned by the footers, and how many there are, if all footers were read
 */
final private[springbok] case class PushedFilter(
    kind: String,
    predicate: Expression,
    way: PushWay,
    rowGroups: Option[(Int, Int)] = None
) {
  def kinds: Seq[String] = (kind +: way.kinds).distinct

  def into(p: SparkPlan): SparkPlan = p.transformUp(way.into(predicate))
}
