package org.apache.spark.sql.springbok.stats.history

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{BaseTable, ExpressionLabel, RuleGuard}
import org.apache.spark.sql.springbok.conf.HistoryConf
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Rows, Source}
import org.apache.spark.sql.springbok.stats.source.ByIdentity
import org.apache.spark.util.Utils

/**
 * What was observed of the parts of a finished query.
 *
 * @param distinct
 *   the number of distinct values of columns of parts
 */
final private[springbok] case class Observed(
    rows: Seq[(LogicalPlan, Long)],
    distinct: Seq[(LogicalPlan, Attribute, Long)] = Nil
)

/**
 * The history as one query sees it. What it has read once stays as it is for all plannings of the query. Once the query has
 * ended nothing more is read: its report shows what it was planned with, and not what it has taught itself.
 *
 * '''Why the answer cannot change''': only the expected rows of an estimate change. What is proven stays as statistics say:
 * bounds, unique keys and ranges. So a history that is wrong makes no broadcast possible that was not possible without it.
 *
 * '''Settings''': `spark.springbok.history.*`.
 */
final private[springbok] class QueryHistory(history: History) {
  private val keys = new PlanKeys(literals = true)
  private val shapes = new PlanKeys(literals = false)
  private val read = new ConcurrentHashMap[Digest, Option[LearnedRows]]()
  private val fingerprints = ByIdentity[AnyRef, Option[InputFingerprint]]()
  private val confidences = new ConcurrentHashMap[Digest, Confidence]()

  /** Parts of inputs that have been replaced since. */
  private val doubted = ConcurrentHashMap.newKeySet[Digest]()
  @volatile private var ended = false

  /**
   * The estimate with the rows that the history knows.
   *
   * @param retained
   *   the fraction of them that is expected to be left by runtime filters of joins above, in the stages below
   */
  def applied(plan: LogicalPlan, e: Estimate, retained: => Double): Estimate = {
    if (plan.children.isEmpty && !ended) QueryHistory.leaves(plan).filterNot(isFingerprinted).foreach { leaf =>
      guarded(())(fingerprint(leaf): Unit)
    }
    if (!QueryHistory.asks(plan, e)) e
    else
      guarded(e) {
        val found = for (key <- keys(plan); (learned, c) <- believed(key, Seq(plan))) yield {
          val n = math.max(1.0, c.rows(learned.rows.toDouble, e.rows) * retained)
          val expected = QueryHistory.expecting(e, n, Source.History(learned.runs, learned.lastMs))
          values(plan, e, learned, c).foldLeft(expected) { case (known, (a, left)) => known.leaving(a, left) }
        }
        found.getOrElse(e)
      }
  }

  /**
   * The rows of inner joins of some of these relations that the history knows, with all conditions that have no columns of
   * others.
   *
   * @return
   *   by the numbers of the relations, at least one and in their order
   */
  def joins(relations: IndexedSeq[LogicalPlan], conditions: Seq[Expression]): Seq[Int] => Option[Double] = {
    lazy val keyOf = keys.joins(relations, conditions)
    members =>
      guarded(Option.empty[Double]) {
        for (key <- keyOf(members); (learned, c) <- believed(key, members.map(relations)))
          yield math.max(1.0, c.rows(learned.rows.toDouble, None))
      }
  }

  /** What is known of a part that reads these plans, and how far it holds; None if it holds too little. */
  private def believed(key: Digest, of: Seq[LogicalPlan]): Option[(LearnedRows, Confidence)] =
    for {
      learned <- rows(key)
      c <- confidence(key, of, learned)
      _ = if (c.share <= Confidence.doubted) doubted.add(key)
      if c.share >= Confidence.least
    } yield learned -> c

  /** How far it holds for the inputs as they are now; None if changes of one of them would go unnoticed. */
  private def confidence(key: Digest, of: Seq[LogicalPlan], learned: LearnedRows): Option[Confidence] =
    Option(confidences.get(key)).orElse {
      val made = inputs(of).map(Confidence.of(learned.inputs, _))
      made.foreach(confidences.put(key, _))
      made
    }

  /** Columns whose values were counted, with the number of values that is expected of the inputs as they are now. */
  private def values(
      plan: LogicalPlan,
      e: Estimate,
      learned: LearnedRows,
      c: Confidence
  ): Seq[(Attribute, Double)] =
    if (learned.distinct.isEmpty) Nil
    else
      for ((a, s) <- e.columns.toSeq; column <- keys.column(plan, a); n <- learned.distinct.get(column))
        yield {
          val estimated = Rows(s.remaining, s.distinct.fold(s.table.rows)(_.atMost), Source.Estimated)
          a -> c.rows(n.toDouble, Some(estimated))
        }

  /** The fraction of a table's rows that conditions of this form select. */
  def selectivity(f: Filter): Option[LearnedSelectivity] =
    guarded(Option.empty[LearnedSelectivity]) {
      if (ended) None else shapes(f).flatMap(history.selectivity)
    }

  private def rows(key: Digest): Option[LearnedRows] =
    if (ended) Option(read.get(key)).flatten else read.computeIfAbsent(key, history.rows(_))

  /** Remembers for a node what is known of an equal one. */
  def carry(from: LogicalPlan, to: LogicalPlan): Unit = Seq(keys, shapes).foreach(_.carry(from, to))

  /** The query has ended. */
  def end(): Unit = ended = true

  /**
   * The query has ended, and this was observed of its parts. What has been doubted and was not counted again is forgotten: a
   * wrong entry serves one query, even if runtime filters always remove rows of its part.
   *
   * @param tableRows
   *   rows of a table, None if unknown
   * @param sinceMs
   *   when the query began
   */
  def learn(observed: Observed, tableRows: LogicalPlan => Option[Double], sinceMs: Long): Unit = {
    end()
    val (now, most) = (System.currentTimeMillis(), SQLConf.get.getConf(HistoryConf.MAX_ENTRIES))
    val keyed = for ((plan, n) <- observed.rows; key <- keys(plan)) yield key -> ((plan, n))
    val distinct =
      for ((plan, a, n) <- observed.distinct; key <- keys(plan); column <- keys.column(plan, a))
        yield (key, column, n)
    // Projections have the key of what they project.
    val entries = for ((key, (plan, n)) <- keyed.toMap.toSeq; from <- inputs(Seq(plan), sinceMs)) yield {
      val ofForm = for {
        f <- QueryHistory.condition(plan)
        shape <- shapes(f)
        all <- tableRows(f.child) if all >= 1
      } yield {
        val part = math.max(1.0, n.toDouble) / math.max(all, n.toDouble)
        LearnedEntry.OfSelectivity(shape, history.learnSelectivity(shape, part, now, most))
      }
      val values = distinct.collect { case (`key`, column, d) => column -> d }
      val run = LearnedRows(n, from, 1, now, values.toMap)
      LearnedEntry.OfRows(key, history.learn(key, run, most), label(plan)) +: ofForm.toSeq
    }
    doubted.asScala.filterNot(keyed.map(_._1).toSet).foreach(history.forget)
    history.share(entries.flatten)
  }

  /** What an entry is about, for people; None if that is not to be stored. Spark's redaction applies. */
  private def label(plan: LogicalPlan): Option[String] =
    Option.when(history.isShared && !SQLConf.get.getConf(HistoryConf.REDACT)) {
      Utils.redact(SQLConf.get.stringRedactionPattern, QueryHistory.label(plan))
    }

  /**
   * What plans read; None if changes of a part of it would go unnoticed.
   *
   * @param sinceMs
   *   when the query began, for inputs that planning has not looked at: what was changed since may not be what was read
   */
  private def inputs(
      plans: Seq[LogicalPlan],
      sinceMs: Long = Long.MaxValue
  ): Option[Seq[InputFingerprint]] = {
    val leaves = plans.flatMap(QueryHistory.leaves)
    val all = for {
      leaf <- leaves
      key <- keys(leaf)
      of <- fingerprint(leaf, sinceMs)
    } yield key -> of
    // Plans with one key may have their inputs in any order.
    Option.when(all.size == leaves.size)(all.sortBy(_._1).map(_._2))
  }

  /** Taken when the query is planned: a write to a table may change the list of its files while the query runs. */
  private def fingerprint(leaf: LogicalPlan, sinceMs: Long = Long.MaxValue): Option[InputFingerprint] =
    Option(fingerprints.getIfPresent(input(leaf))).getOrElse {
      val made = InputFingerprint.of(leaf, sinceMs)
      // A cached table has none before it is filled.
      if (made.isDefined) fingerprints.put(input(leaf), made)
      made
    }

  private def isFingerprinted(leaf: LogicalPlan): Boolean = fingerprints.getIfPresent(input(leaf)) != null

  /** What a leaf reads. That of a table of files is the same in all copies of the plan. */
  private def input(leaf: LogicalPlan): AnyRef = leaf match {
    case r: LogicalRelation => r.relation
    case other => other
  }

  private def guarded[T](otherwise: T)(body: => T): T = RuleGuard("History", otherwise, None)(body)
}

private[springbok] object QueryHistory {

  /** For a query of the active session; None if the session goes without a history. */
  def current(): Option[QueryHistory] =
    if (!SQLConf.get.getConf(HistoryConf.ENABLED)) None
    else Try(new QueryHistory(History.of(SparkSession.active.sparkContext))).toOption

  /** Whether the rows may be known better than by the estimate. Others follow from those of their inputs. */
  private def asks(plan: LogicalPlan, e: Estimate): Boolean = plan match {
    case _: Filter | _: Join | _: Aggregate | _: Generate => true
    // Statistics of a table are of the files that are read now.
    case _: LogicalQueryStage => false
    case _: LeafNode => e.rows.isEmpty
    case _ => false
  }

  /** With other expected rows. No bound gets lower; rows that were there are possible. */
  private def expecting(e: Estimate, n: Double, source: Source): Estimate = {
    val rows = e.rows.fold(Rows(n, unbounded, source)) { r =>
      Rows(n, math.max(r.bound, n), source, math.max(r.most, n))
    }
    e.counting(rows)
  }

  /** Rows that nothing bounds. */
  private val unbounded = Long.MaxValue.toDouble

  private def label(plan: LogicalPlan): String = {
    val tables = leaves(plan).collect { case BaseTable(name) => name }.distinct.sorted.mkString(", ")
    val what = plan match {
      case f: Filter => s" where ${ExpressionLabel(f.condition)}"
      case a: Aggregate => s" by ${a.groupingExpressions.map(ExpressionLabel).mkString(", ")}"
      case j: Join => j.condition.fold("")(c => s" on ${ExpressionLabel(c)}")
      case _ => ""
    }
    s"${plan.nodeName} of $tables$what"
  }

  /** The condition on a table. */
  private def condition(plan: LogicalPlan): Option[Filter] = plan match {
    case Project(_, child) => condition(child)
    case f @ Filter(_, _: LogicalRelation) => Some(f)
    case _ => None
  }

  /** What a plan reads, also below its stages. */
  private def leaves(plan: LogicalPlan): Seq[LogicalPlan] = plan.collectLeaves().flatMap {
    case s: LogicalQueryStage => leaves(s.logicalPlan)
    case leaf => Seq(leaf)
  }
}
