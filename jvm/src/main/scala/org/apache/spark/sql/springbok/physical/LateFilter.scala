package org.apache.spark.sql.springbok.physical

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.catalyst.NullOnNull
import org.apache.spark.sql.springbok.keys.{KeyLookup, KeyType}
import org.apache.spark.sql.springbok.physical.LateFilterPoll.{FinalPoll, Poll}

/**
 * A runtime filter that no scan waits for: its scan starts at once, and the tasks that begin after it has arrived test
 * their rows by it. To tasks only its number goes, by which they ask the driver ([[LateFilterClient]]) before their first row.
 *
 * '''Why the answer cannot change''': each row that it removes is removed by the join as well, so it does not matter which
 * of them were tested. What does matter is that a task which is computed again gives the rows that it gave before: Spark
 * compares checksums of what it wrote, and takes a difference for an indeterminate stage. So it is decided once for each
 * partition whether its rows are tested, by the first of its attempts that asks.
 *
 * @param id
 *   unique in the application
 * @param waitMs
 *   how long in ms a task waits before its first row, for all of its filters together
 */
final class LateFilter(val id: Long, waitMs: Long) extends Serializable {
  import LateFilter._

  // ---- in a task

  @transient private var asked = false
  @transient private var arrived: KeyLookup = _

  /** Whether this task tests its rows. */
  def here(): Boolean = {
    if (!asked) {
      val found = LateFilterClient.await(FinalPoll(id, TaskContext.getPartitionId()), waitMs)
      found.foreach(filter => arrived = filter.keys.value)
      asked = true
    }
    arrived != null
  }

  /** For a task that tests its rows: whether it may have an integral key. */
  def mayHave(key: Long): Boolean = arrived.mayHave(key)

  /** For a task that tests its rows: whether it may have a key with this hash, if its keys are not integral. */
  def mayHaveHash(hash: Long): Boolean = arrived.mayHaveHash(hash)

  // ---- on the driver

  @transient @volatile private var state: State = Open
  // Times of System.nanoTime.
  @transient @volatile private var scanBegan = Option.empty[Long]
  @transient @volatile private var settledAt = Option.empty[Long]
  @transient private lazy val partitions = new ConcurrentHashMap[Int, State]

  /** What a task has to do. The answer for a partition is final once it is [[Arrived]] or [[Never]]. */
  private[physical] def answer(poll: LateFilterPoll): State = (state, poll) match {
    case (Open, Poll(_, partition)) => partitions.getOrDefault(partition, Open)
    case (now, _) => partitions.computeIfAbsent(poll.partition, _ => if (now == Open) Never else now)
  }

  /** Takes what was decided from its finished build side, the first time: the filter, or that there will be none. */
  def decide(decided: => State): Unit = if (state == Open) settle(decided)

  /** Whether a partition has been answered for good. */
  private[springbok] def answered: Boolean = !partitions.isEmpty

  private[springbok] def settled: Boolean = state != Open

  private[springbok] def settle(as: State): Unit = {
    state = as
    settledAt = settledAt.orElse(Some(System.nanoTime))
  }

  /** What became of it in the scan, as far as its tasks have asked. */
  private[springbok] def outcome: Outcome = {
    val answers = partitions.values.asScala.toSeq
    val arrivedMs =
      for (began <- scanBegan; at <- settledAt if state != Never)
        yield math.max(0, at - began) / 1000000
    val tested = answers.count(_.isInstanceOf[Arrived])
    Outcome(arrivedMs, tested, untested = answers.count(_ == Never))
  }

  /** The scan's stage is about to be submitted. */
  private[physical] def beginScan(): Unit = scanBegan = scanBegan.orElse(Some(System.nanoTime))
}

object LateFilter {

  /** What is known of a filter: nothing yet, the filter, or that there will be none. */
  sealed trait State
  case object Open extends State
  case object Never extends State

  final case class Arrived(keys: Broadcast[KeyLookup]) extends State

  /** The filter, on its way to the executors. */
  def arrived(keys: KeyLookup): State = Arrived(SparkContext.getActive.get.broadcast(keys))

  /**
   * @param arrivedMs
   *   when it was there, in ms after the scan's stage began; 0 if before; None if it never was, or no scan began
   * @param tested,
   *   untested tasks of the scan that tested their rows by it, and that did not; a task without rows is neither
   */
  final private[springbok] case class Outcome(arrivedMs: Option[Long], tested: Int, untested: Int)

  /** Where tasks of a plan's stages expect one, or may yet. */
  def expected(plan: SparkPlan): Seq[AppliedRuntimeFilterExec] = plan match {
    case q: QueryStageExec if q.isMaterialized => Nil
    case q: QueryStageExec => expected(q.plan)
    case f: AppliedRuntimeFilterExec if f.late.isDefined => f +: expected(f.child)
    case p => p.children.flatMap(expected)
  }
}

/** Whether the filter may hold the key, where this task tests its rows; null for a null key. */
final case class LateContains(child: Expression, late: LateFilter)
    extends UnaryExpression
    with Predicate
    with NullOnNull {
  private def isLong: Boolean = KeyType.isLong(child.dataType)

  override protected def nullSafeEval(key: Any): Any =
    !late.here() || (
      if (isLong) late.mayHave(key.asInstanceOf[Number].longValue)
      else late.mayHaveHash(KeyType.hash(key, child.dataType))
    )

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val filter = ctx.addReferenceObj("late", late)
    nullSafeCodeGen(
      ctx,
      ev,
      key => {
        val found =
          if (isLong) s"mayHave($key)" else s"mayHaveHash(${KeyType.hashCode(key, child.dataType)})"
        s"${ev.value} = !$filter.here() || $filter.$found;"
      }
    )
  }

  override def toString: String = s"late($child)"

  override protected def withNewChildInternal(newChild: Expression): LateContains = copy(child = newChild)
}
