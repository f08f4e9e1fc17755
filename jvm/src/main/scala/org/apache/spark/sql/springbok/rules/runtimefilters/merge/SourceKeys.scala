package org.apache.spark.sql.springbok.rules.runtimefilters.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.keys.{KeyFacts, KeyPredicates, KeySummary}
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.KeySpan
import org.apache.spark.sql.types.{DataType, TimestampType}

/** A column of the target and the expression over the source that ON equates with it. */
final private[merge] case class MergeKey(column: Attribute, source: Expression)

/** The keys of a MERGE's source, which are read before the statement runs. */
private[merge] object SourceKeys {

  /** Distinct keys that are kept, and bytes that all tasks send; of more, the smallest and the largest. */
  private val (listed, sentBytes) = (1 << 17, 32L << 20)

  /** A source with more rows was misjudged. */
  private val mostRows = 1L << 22

  /** The query that reads them. */
  def query(session: SparkSession, source: LogicalPlan, keys: Seq[MergeKey]): QueryExecution = {
    val columns = keys.zipWithIndex.map { case (k, i) => Alias(k.source, s"key$i")() }
    Dataset.ofRows(session, Project(columns, source)).queryExecution
  }

  /** What is known of each key; None if there are too many rows. */
  def read(query: QueryExecution): Option[Seq[KeyFacts]] = {
    val types = query.analyzed.output.map(_.dataType)
    val summary = new KeySummary(types.map(_ -> 0L), listed, sentBytes, sentBytes)
    query.sparkSession.sparkContext.register(summary)
    val partitions = SQLExecution.withNewExecutionId(query, Some("keys of MERGE")) {
      val rows = query.toRdd
      rows.mapPartitionsWithIndex(summarize(types, summary)).collect(): Unit
      rows.getNumPartitions
    }
    val facts = types.indices.map(summary.key)
    Option.when(summary.partitions == partitions && facts.forall(_.rows <= mostRows))(facts)
  }

  private def summarize(
      types: Seq[DataType],
      summary: KeySummary
  ): (Int, Iterator[InternalRow]) => Iterator[Int] = { (partition, rows) =>
    val facts = summary.begin(partition)
    val keys = types.zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) }.toArray
    var n = 0L
    while (n <= mostRows && rows.hasNext) {
      val row = rows.next()
      keys.indices.foreach(i => facts(i).addAny(keys(i), row))
      n += 1
    }
    facts.foreach(_.rows = n)
    Iterator.empty
  }
}

/**
 * What every row of the target fulfils that one of these keys equals.
 *
 * @param text
 *   in words, without values
 */
final private[merge] case class KeyCondition(predicate: Expression, text: String)

private[merge] object KeyCondition {

  /** Values, or ranges of them, between the widest gaps. */
  private val mostRanges = 16

  /** Of the whole range. */
  private val smallestGap = 1.0 / 256

  /** None if the table format may compare a key in another way than Spark, or if the keys have no range. */
  def of(column: Attribute, keys: KeyFacts, conf: SQLConf): Option[KeyCondition] = {
    val predicates = new KeyPredicates(column, conf)
    def condition = Option(keys.values).map(_.toArray.toSeq) match {
      case Some(Seq()) => Some(KeyCondition(Literal.FalseLiteral, "no keys"))
      case Some(vs) if vs.size <= mostRanges =>
        vs.flatMap(KeyPredicates.literal(_, column.dataType))
          .map(EqualTo(column, _): Expression)
          .reduceOption(Or(_, _))
          .map(KeyCondition(_, s"${vs.size} of ${column.name}"))
      case Some(vs) =>
        val ranges = for {
          spans <- KeySpan.sorted(vs, keys.dataType).map(sorted => apart(KeySpan.split(sorted, mostRanges)))
          p <- KeySpan.predicate(spans, predicates)
        } yield KeyCondition(p, s"${vs.size} of ${column.name}, ranges: ${spans.size}")
        ranges.orElse(bounds(predicates, column, keys))
      case None => bounds(predicates, column, keys)
    }
    if (KeyPredicates.all(keys)(isCompared(_, column.dataType))) condition else None
  }

  /** Ranges with a gap between them in which a file may lie. Delta compiles code for each of them. */
  private def apart(spans: Seq[KeySpan]): Seq[KeySpan] = {
    val least = (spans.last.to - spans.head.from) * smallestGap
    spans.tail.foldLeft(Vector(spans.head)) { (done, next) =>
      val last = done.last
      if (next.from - last.to >= least) done :+ next
      else done.init :+ last.copy(high = next.high, to = next.to)
    }
  }

  private def bounds(predicates: KeyPredicates, column: Attribute, keys: KeyFacts): Option[KeyCondition] =
    predicates.bounded(keys).map { case (_, p) => KeyCondition(p, s"the range of ${column.name}") }

  private def isCompared(key: Any, t: DataType): Boolean =
    KeyPredicates.readable(key, t) && KeyPredicates.isAscii(key) &&
      (t != TimestampType || KeyPredicates.hasOffsetInMinutes(key))
}
