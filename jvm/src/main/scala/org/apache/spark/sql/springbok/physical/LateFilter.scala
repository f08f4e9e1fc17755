package org.apache.spark.sql.springbok.physical

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.keys.KeyLookup
import org.apache.spark.sql.springbok.physical.LateFilterPoll.{BeginPoll, FinalPoll, Poll}

/**
 * A runtime filter that no scan waits for: its scan starts at once, and the tasks that begin after it has arrived test
 * their rows by it. To tasks only its number goes, by which they ask the driver ([[LateFilterClient]]). A task asks when it is
 * about to open its files, because it may leave out some of them, and again before its first row.
 *
 * '''Why the answer cannot change''': each row that it removes is removed by the join as well, so it does not matter which
 * of them were tested. What does matter is that a task which is computed again gives the rows that it gave before: Spark
 * compares checksums of what it wrote, and takes a difference for an indeterminate stage. So it is decided once for each
 * partition whether files are left out, and whether its rows are tested, by the first of its attempts that asks.
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

  /** For a task that is about to open its files: the filter if it may leave out some of them. */
  def begin(): Option[Arrived] = {
    val found = LateFilterClient.await(BeginPoll(id, TaskContext.getPartitionId()), waitMs)
    found.foreach(take)
    found.filterNot(_.begun)
  }

  /** Whether this task tests its rows. */
  def here(): Boolean = {
    if (!asked) {
      LateFilterClient.await(FinalPoll(id, TaskContext.getPartitionId()), waitMs).foreach(take)
      asked = true
    }
    arrived != null
  }

  private def take(filter: Arrived): Unit = {
    arrived = filter.keys.value
    asked = true
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
    case (Open, Poll(_, partition)) => known(partition).filter(_ != Begun).getOrElse(Open)
    case (now, BeginPoll(_, partition)) =>
      partitions.computeIfAbsent(partition, _ => if (now == Open) Begun else now)
    case (now, _) =>
      partitions.compute(
        poll.partition,
        (_, before) =>
          before match {
            case null => if (now == Open) Never else now
            case Begun => afterBegin(now)
            case _ => before
          }
      )
  }

  private def known(partition: Int): Option[State] = Option(partitions.get(partition))

  /** For a task that reads all of its files. */
  private def afterBegin(now: State): State = now match {
    case a: Arrived => a.copy(groups = None, begun = true)
    case _ => Never
  }

  /** Takes what was decided from its finished build side, the first time: the filter, or that there will be none. */
  def decide(decided: => State): Unit = if (state == Open) settle(decided)

  /** Whether a partition has been answered for good. */
  private[springbok] def answered: Boolean = partitions.values.asScala.exists(_ != Begun)

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

  /** Of a partition alone: its task opened all of its files before anything was known, and will ask again. */
  case object Begun extends State

  /**
   * @param groups
   *   leaves out row groups, if that pays
   * @param begun
   *   whether the task had opened its files before: it leaves out none of them, and tests its rows
   */
  final case class Arrived(
      keys: Broadcast[KeyLookup],
      groups: Option[RowGroupTest] = None,
      begun: Boolean = false
  ) extends State

  /** The filter, on its way to the executors. */
  def arrived(keys: KeyLookup, groups: Option[RowGroupTest]): State =
    Arrived(SparkContext.getActive.get.broadcast(keys), groups)

  /**
   * @param arrivedMs
   *   when it was there, in ms after the scan's stage began; 0 if before; None if it never was, or no scan began
   * @param tested,
   *   untested tasks of the scan that tested their rows by it, and that did not; a task that began without it and has no rows
   *   is neither
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
