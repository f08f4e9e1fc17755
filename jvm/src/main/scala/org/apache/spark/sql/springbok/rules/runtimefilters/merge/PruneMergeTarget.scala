package org.apache.spark.sql.springbok.rules.runtimefilters.merge

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{And, Attribute, EqualTo, Expression, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Command, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.springbok.catalyst.{CurrentExecution, Interrupted, RuleGuard}
import org.apache.spark.sql.springbok.conf.MergeConf
import org.apache.spark.sql.springbok.keys.{KeyFacts, KeyType}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{DecidedMerge, PlanningState}

/**
 * Adds the keys of the source to the condition of a MERGE, as people do by hand, so that the table format skips files.
 *
 * {{{
 *   MERGE INTO t USING s ON t.id = s.id    =>    MERGE INTO t USING s
 *                                                ON t.id = s.id AND (t.id BETWEEN 100 AND 180 OR t.id BETWEEN 900 AND 950)
 * }}}
 *
 * '''When''': ON equates plain columns of the target with expressions of the source, no clause is for rows that are NOT
 * MATCHED BY SOURCE, the target is large, and the source is small beside it and [[RepeatableSource repeatable]]. The statement
 * must be about to run: EXPLAIN reads no keys. The format is not asked beforehand which files may match: that takes longer than
 * to compare each row with the one range that scattered keys have.
 *
 * '''Why the result cannot change''': the added conjunct is true for each row of the target that ON matches with a row of the
 * source. ON demands that the column equals a key of the source. The conjunct holds for each key: it is a list of all keys, or
 * ranges that have all of them. A NULL on either side matches nothing, with `=`; keys that are compared with `<=>` are not used.
 * So matched rows are the same ones, and with them rows that are not matched, and rows that match twice and raise an error. It
 * takes this:
 *   - The keys were read from the rows that the statement reads. Both reads have the same rows, see [[RepeatableSource]].
 *   - The comparison with a literal is that of the join, in Spark and in the statistics of files. Only types are used whose
 *     values are equal if their bytes are: integral numbers, dates, timestamps, decimals of one type, and strings in ASCII
 *     without collation and padding. Floating-point numbers are not (NaN, -0.0).
 *   - The transaction's read predicate gets narrower by rows that this source cannot match. A concurrent writer that adds or
 *     changes a row which the source could match still conflicts, since the row fulfils the predicate, as with a condition
 *     written by hand.
 *
 * If reading the keys fails, the statement stays as it is, and fails itself if it has to.
 *
 * '''Settings''': `spark.springbok.merge.enabled`, `.minTargetBytes`.
 */
object PruneMergeTarget extends Rule[LogicalPlan] {

  /** Most bytes of the source and of what it reads, and which fraction of the target's bytes it may have. */
  private val (mostSource, mostOfTarget) = (16.0 * (1 << 20), 0.25)

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case c: Command if conf.getConf(MergeConf.ENABLED) && !PlanningState.leavesAlone(c, conf) =>
      val state = new PlanningState
      RuleGuard("PruneMergeTarget", Result(Some(plan)), Some(state))(decided(plan, state)) match {
        // The statement is to stop, and not to go on without the keys.
        case Result(_, Some(cancelled)) => throw cancelled
        case Result(pruned, _) => pruned.fold(plan)(PlanningState.tagged(_, state))
      }
    case _ => plan
  }

  /** The plan, None if it is no MERGE that is about to run, or how the statement was cancelled while its keys were read. */
  final private case class Result(plan: Option[LogicalPlan], cancelled: Option[Throwable] = None)

  private def decided(plan: LogicalPlan, state: PlanningState): Result =
    try
      Result(MergeStatement.of(plan).filter(_ => isRunning(plan)).map { merge =>
        val (pruned, reason) = new TargetPruning(merge, SparkSession.active).result.fold((plan, _), identity)
        state.decisions.add(DecidedMerge(reason))
        pruned
      })
    catch { case e if isCancelled(e) => Result(None, Some(e)) }

  private def isCancelled(e: Throwable): Boolean = Iterator
    .iterate(e)(_.getCause)
    .takeWhile(_ != null)
    .exists(c => Option(c.getMessage).exists(_.contains("SPARK_JOB_CANCELLED")))

  /** Whether the statement is being executed: EXPLAIN and reports plan it as well. Its tables may have been loaded anew. */
  private def isRunning(plan: LogicalPlan): Boolean =
    CurrentExecution.query(SparkSession.active.sparkContext).exists(_.analyzed.getClass == plan.getClass)

  /** One MERGE. */
  final private class TargetPruning(merge: MergeStatement, session: SparkSession) extends PredicateHelper {

    /** The statement with the condition, or why it stays. */
    def result: Either[Reason, (LogicalPlan, Reason)] = for {
      keys <- usable
      bytes <- merge.targetBytes.toRight(Reason.targetKept("its size is unknown"))
      least = conf.getConf(MergeConf.MIN_TARGET).toDouble
      _ <- Either.cond(bytes >= least, (), smallTarget(bytes, least))
      repeatable = new RepeatableSource(session, merge.target)
      pinned <- repeatable.pinned(merge.source, keys.map(_.source)).left.map(Reason.sourceKept)
      query = SourceKeys.query(session, pinned(merge.source), keys)
      _ <- Either.cond(repeatable.isReadBy(query.optimizedPlan), (), Reason.sourceKept("it has just changed"))
      _ <- small(query, bytes)
      facts <- read(query)
      conditions = keys.zip(facts).flatMap { case (k, f) => KeyCondition.of(k.column, f, conf) }
      predicate <- conditions.map(_.predicate).reduceOption(And(_, _)).toRight(otherwise)
    } yield (
      merge.within(predicate, pinned),
      Reason.conditionAdded(conditions.map(_.text).mkString(", "))
    )

    private def usable: Either[Reason, Seq[MergeKey]] = {
      val found = splitConjunctivePredicates(merge.on).collect { case EqualTo(a, b) =>
        Seq(a -> b, b -> a)
      }.flatten
      val keys = found.collect { case (c: Attribute, k) if isColumn(c) && isOfSource(k) => MergeKey(c, k) }
      if (merge.changesUnmatched)
        Left(Reason.targetKept("rows that are NOT MATCHED BY SOURCE may be anywhere"))
      else if (keys.isEmpty)
        Left(Reason.targetKept("ON equates no plain column of the target with the source"))
      else Some(keys.filter(k => merge.compares(k.column))).filter(_.nonEmpty).toRight(otherwise)
    }

    private def isColumn(c: Attribute): Boolean =
      merge.target.outputSet.contains(c) && KeyType.supported(c.dataType) &&
        CharVarcharUtils.getRawType(c.metadata).isEmpty

    private def isOfSource(k: Expression): Boolean =
      k.references.nonEmpty && k.references.subsetOf(merge.source.outputSet)

    private def small(query: QueryExecution, target: Double): Either[Reason, Unit] = {
      val plan = query.optimizedPlan
      val read = plan.collectLeaves().map(_.stats.sizeInBytes.toDouble).sum
      val (bytes, most) =
        (math.max(read, plan.stats.sizeInBytes.toDouble), math.min(mostSource, target * mostOfTarget))
      def why = s"it may have ${Reason.bytes(bytes)}; at most ${Reason.bytes(most)} are read twice"
      Either.cond(bytes <= most, (), Reason.sourceKept(why))
    }

    private def read(query: QueryExecution): Either[Reason, Seq[KeyFacts]] =
      try SourceKeys.read(query).toRight(Reason.sourceKept("it has many more rows than expected"))
      catch {
        case e @ Interrupted() => throw e
        case e if isCancelled(e) => throw e
        case NonFatal(e) => Left(Reason.sourceKept(s"reading them failed with ${e.getClass.getSimpleName}"))
      }

    private def otherwise: Reason =
      Reason.targetKept("its format may compare the keys differently from Spark")

    private def smallTarget(bytes: Double, least: Double): Reason =
      Reason.targetKept(
        s"it has ${Reason.bytes(bytes)}; at least ${Reason.bytes(least)} are worth a look at the keys"
      )
  }
}
