package org.apache.spark.sql.springbok.rules.runtimefilters.resolve

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.CatalogFileIndex
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.SparkLine
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.{Comparison, KeyFacts, KeyPredicates, KeyType}
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, ValueRange}
import org.apache.spark.sql.springbok.stats.source.Footers
import org.apache.spark.sql.types._
import org.apache.spark.util.collection.BitSet

/**
 * A filter as a predicate on a column of a scan, which skips partitions, files, row groups and pages by it.
 *
 * @param kind
 *   `in` (every key), `ranges` (several ranges that hold all keys), `minmax`, or `buckets` where these are all it skips
 * @param rowGroups
 *   (removed, all) by the footers, where all of them were read
 * @param buckets
 *   the buckets to read, None for all
 */
final private[springbok] case class Pushed(
    kind: String,
    predicate: Expression,
    partition: Boolean,
    rowGroups: Option[(Int, Int)],
    buckets: Option[BitSet] = None
) {
  def kinds: Seq[String] = (kind +: buckets.map(_ => ScanPruning.buckets).toSeq).distinct

  def into(p: SparkPlan): SparkPlan = p.transformUp {
    case scan: FileSourceScanExec =>
      val s = buckets.fold(scan)(SparkLine.withBuckets(scan, _))
      if (partition)
        SparkLine.withFilters(s, s.dataFilters, s.partitionFilters :+ ScanPruning.kept(s, predicate))
      else SparkLine.withFilters(s, s.dataFilters :+ predicate, s.partitionFilters)
    case b: BatchScanExec => SparkLine.withRuntimeFilter(b, predicate)
  }
}

/**
 * What a scan of files can skip by the keys of a build side.
 *
 * Parquet's filters take lists up to `spark.sql.parquet.pushdown.inFilterThreshold` value by value and a longer one as one
 * range, so a longer list is pushed as several ranges, split at its widest gaps.
 */
final private[springbok] class ScanPruning(
    scan: FileSourceScanExec,
    column: Attribute,
    keyType: DataType,
    conf: SQLConf
) {
  import ScanPruning._
  private val inLimit = conf.getConf(FilterConf.IN_LIMIT)
  private val predicates = new KeyPredicates(column, conf)
  private val ranges = if (scan.relation.fileFormat.isInstanceOf[OrcFileFormat]) maxOrcRanges else maxRanges
  import predicates._

  /** The predicate, if the scan can skip something by it; `always` pushes it whatever the footers say. */
  def of(k: KeyFacts, always: Boolean): Option[Pushed] = {
    val values = listed(k)
    // Looked up once a partition: the list may be long.
    if (partitioned)
      for ((kind, predicate) <- exact(values).orElse(bounded(k)))
        yield Pushed(kind, predicate, partition = true, None)
    else if (!comparable) None
    else {
      val byData = for {
        (kind, predicate, spans) <- data(k, values)
        pruned = prunes(spans)
        if always || pruned.fold(spans.isEmpty && values.exists(_.size <= KeyPredicates.shortList))(_._1 > 0)
      } yield Pushed(kind, predicate, partition = false, pruned.filter(_ => counted).map(p => (p._1, p._2)))
      values.flatMap(BucketPruning.of(scan, column, _, conf)) match {
        case None => byData
        case read =>
          // All rows of a key lie in one bucket, so none of them is left when it is tested row by row as well.
          val alone =
            bounded(k).orElse(exact(values)).map(p => Pushed(buckets, p._2, partition = false, None))
          byData.orElse(alone).map(_.copy(buckets = read))
      }
    }
  }

  /** The bound of a comparison as a predicate on the column, if its type has the bound and the scan can skip by it. */
  def bound(c: Comparison, value: Any, always: Boolean): Option[Pushed] =
    KeyPredicates.bound(column, c, value).flatMap { predicate =>
      if (partitioned) Some(Pushed(c.kind, predicate, partition = true, None))
      else if (!comparable) None
      else {
        val pruned = Estimate
          .number(value)
          .flatMap(v => removed(r => KeyPredicates.asked(column, c).refuses(r.min, r.max, v)))
        Option.when(always || pruned.exists(_._1 > 0))(
          Pushed(c.kind, predicate, partition = false, pruned.filter(_ => counted))
        )
      }
    }

  private def data(k: KeyFacts, values: Option[Seq[Any]]): Option[(String, Expression, Seq[Span])] = {
    val short = values.filter(_.size <= math.min(inLimit, conf.parquetFilterPushDownInFilterThreshold))
    val split = values.flatMap(spansOf).filter(_.size > 1)
    if (short.isDefined)
      exact(values).map { case (kind, p) => (kind, p, short.get.flatMap(v => span(v, v))) }
    else if (split.isDefined)
      for (s <- split; p <- s.flatMap(x => between(x.low, x.high)).reduceOption(Or(_, _)))
        yield ("ranges", p, s)
    else
      for ((kind, p) <- bounded(k); (low, high) <- k.range) yield (kind, p, span(low, high).toSeq)
  }

  private def span(low: Any, high: Any): Option[Span] =
    for (from <- Estimate.number(low); to <- Estimate.number(high)) yield Span(low, high, from, to)

  /**
   * The keys in at most so many ranges, split at the widest gaps; None if they are no numbers. Keys that the footers say
   * the column does not reach are one range on either side: they take none of the splits, and are not left out, as
   * nothing has to be believed of the footers.
   */
  private def spansOf(values: Seq[Any]): Option[Seq[Span]] = {
    // In the keys' own order: as floating point numbers neighbours may be one.
    val ordered: Seq[Any] =
      if (KeyType.isLong(keyType)) values.map(_.asInstanceOf[Long]).toArray.sorted.toSeq
      else values.sorted(TypeUtils.getInterpretedOrdering(keyType))
    val sorted = ordered.flatMap(v => span(v, v))
    Option.when(sorted.nonEmpty && sorted.size == values.size) {
      val reached = footers.flatMap(_.range(column.name))
      val (below, rest) = sorted.span(s => reached.exists(_.min > s.to))
      val (within, above) = rest.span(s => reached.forall(_.max >= s.from))
      split(below, 1) ++ split(within, ranges - 2) ++ split(above, 1)
    }
  }

  private def split(sorted: Seq[Span], ranges: Int): Seq[Span] =
    if (sorted.isEmpty) Nil
    else {
      val keys = sorted.toIndexedSeq
      val gaps = keys.indices.drop(1).sortBy(i => keys(i - 1).to - keys(i).from).take(ranges - 1)
      val starts = (0 +: gaps.sorted) :+ keys.size
      starts.zip(starts.tail).map { case (i, j) =>
        Span(keys(i).low, keys(j - 1).high, keys(i).from, keys(j - 1).to)
      }
    }

  private lazy val footers = Footers.read(scan.relation)

  /** Of a sample of the files nothing is counted. */
  private def counted: Boolean = footers.exists(t => t.files == t.filesRead)

  /**
   * How many row groups hold none of the keys, of how many; None if the footers, or the keys, cannot tell: then a short
   * list may still be refused by dictionaries.
   */
  private def prunes(spans: Seq[Span]): Option[(Int, Int)] =
    if (spans.isEmpty) None else removed(r => !spans.exists(s => s.from <= r.max && s.to >= r.min))

  private def removed(refused: ValueRange => Boolean): Option[(Int, Int)] = {
    // A null has no match.
    val (empty, groups) = footers.toSeq.flatMap(_.groups).partition(_.allNull(column.name))
    val ranges = groups.map(_.ranges.get(column.name))
    Option.when(ranges.nonEmpty && ranges.forall(_.isDefined)) {
      (ranges.flatten.count(refused) + empty.size, ranges.size + empty.size)
    }
  }

  private def partitioned: Boolean = byPartition(scan, column, conf)

  /**
   * Whether Parquet compares keys with what its files hold: Spark's filters cut a decimal down to the digits that a file
   * has, so all files must be known to have the column's.
   */
  private def comparable: Boolean = column.dataType match {
    case d: DecimalType if scan.relation.fileFormat.isInstanceOf[ParquetFileFormat] =>
      counted && footers.exists(_.groups.forall(_.precisions.get(column.name).contains(d.precision)))
    case _ => true
  }
}

private[springbok] object ScanPruning {

  /**
   * A predicate on partitions as the driver is to evaluate it. In a form that the metastore is not asked for: it fails on
   * long lists and some literals, and compares strings by a collation of its own.
   */
  private[springbok] def kept(scan: FileSourceScanExec, predicate: Expression): Expression =
    scan.relation.location match {
      case _: CatalogFileIndex => EqualNullSafe(predicate, Literal.TrueLiteral)
      case _ => predicate
    }

  /** Whether the files of the scan lie in folders by this column. */
  def byPartition(scan: FileSourceScanExec, column: Attribute, conf: SQLConf): Boolean =
    scan.relation.partitionSchema.exists(p => conf.resolver(p.name, column.name))

  /** The kind of a filter that skips buckets. */
  val buckets = "buckets"

  /** Each row group and page is compared with every range. */
  val maxRanges = 16

  /** ORC multiplies alternatives out and gives a condition of more than 256 combinations up: two bounds a range. */
  val maxOrcRanges = 8

  /** A range of keys, as they are and as numbers. */
  final case class Span(low: Any, high: Any, from: Double, to: Double)
}
