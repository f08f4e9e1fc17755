package org.apache.spark.sql.springbok.keys

import java.util.{BitSet => JBitSet}

import org.apache.spark.TaskContext
import org.apache.spark.sql.springbok.catalyst.SentOnce
import org.apache.spark.sql.types.DataType
import org.apache.spark.util.AccumulatorV2

/**
 * Summaries of the keys of one build stage: one [[KeyFacts]] a key, and which map partitions reported. Merged on the
 * scheduler's event loop, so partials are bounded: hashes and bloom filters by `mergeBytes` over all tasks and keys of the stage,
 * and by `taskBytes` in one task. The lists of each key have about `mergeBytes` as well, and room for a few values in each task.
 *
 * @param keys
 *   type and bloom size in bytes of each key
 */
final class KeySummary(keys: Seq[(DataType, Long)], limit: Int, mergeBytes: Long, taskBytes: Long)
    extends SentOnce[KeySummary.Partial, KeySummary] {
  private var facts: Array[KeyFacts] = merged
  private val reported = new JBitSet()

  /** What the driver merges into: of each key a filter of the planned size. */
  private def merged: Array[KeyFacts] = keys.map { case (t, bloom) => new KeyFacts(t, limit, bloom) }.toArray

  /** What a task fills, which may send so many bytes. */
  private def partial(bytes: Long): Array[KeyFacts] = {
    val listed = math.min(limit.toLong, math.max(KeySummary.leastListed, bytes / KeySummary.valueBytes)).toInt
    val texts = math.min(KeyFacts.maxListedBytes, math.max(KeySummary.leastBytes, bytes))
    keys
      .zip(KeySummary.shares(keys.map(_._2), bytes))
      .map { case ((t, bloom), share) =>
        new KeyFacts(t, listed, KeySummary.affordable(bloom, share), listBytes = texts, hashBytes = share)
      }
      .toArray
  }

  /** On an executor: what this task adds to; it is reported when the task succeeds. */
  def begin(partition: Int): Array[KeyFacts] = {
    val context = TaskContext.get()
    // Every task of the stage sees the same number of tasks, so all decide alike.
    val share = math.min(mergeBytes / (if (context == null) 1 else context.numPartitions()), taskBytes)
    val mine = partial(share)
    if (context != null) {
      context.addTaskCompletionListener[Unit] { c =>
        if (!c.isFailed() && !c.isInterrupted()) add(KeySummary.Partial(partition, mine))
      }: Unit
    }
    mine
  }

  def key(i: Int): KeyFacts = facts(i)

  /** Map partitions that reported, each once however often it ran. */
  def partitions: Int = reported.cardinality

  override def isZero: Boolean = reported.isEmpty

  override def copy(): KeySummary = {
    val c = new KeySummary(keys, limit, mergeBytes, taskBytes)
    c.facts = facts.map(_.copy())
    c.reported.or(reported)
    c
  }

  override def reset(): Unit = {
    facts = merged
    reported.clear()
  }

  override def add(p: KeySummary.Partial): Unit = {
    facts = if (isZero) p.facts else united(p.facts)
    reported.set(p.partition)
  }

  override def merge(other: AccumulatorV2[KeySummary.Partial, KeySummary]): Unit = other match {
    case o: KeySummary =>
      facts = united(o.facts)
      reported.or(o.reported)
      // The event of the task's end holds the partial until the slowest listener of the application has seen it.
      o.facts = Array.empty
    case _ => throw new UnsupportedOperationException(s"a ${other.getClass.getName} is no summary of keys")
  }

  private def united(others: Array[KeyFacts]): Array[KeyFacts] =
    facts.zip(others).map { case (a, b) => a.union(b) }

  override def value: KeySummary = this

  /** An accumulator prints its value, and that is this one. */
  override def toString: String = s"KeySummary(${keys.size} keys, $partitions partitions)"
}

object KeySummary {

  /** Bytes of a listed value in memory, about. */
  private val valueBytes = 64

  /** Values, and bytes of texts, that each task may list. */
  private val leastListed = 64L
  private val leastBytes = 4L << 10

  /**
   * The bytes that a task may send of each key, in their order. No key needs more than its bloom filter; those with small ones
   * leave the rest to the others.
   */
  private def shares(blooms: Seq[Long], bytes: Long): Seq[Long] = {
    var left = bytes
    val bySize = blooms.zipWithIndex
      .sortBy(_._1)
      .zipWithIndex
      .map { case ((bloom, at), i) =>
        val share = math.min(bloom, left / (blooms.size - i))
        left -= share
        at -> share
      }
      .toMap
    blooms.indices.map(bySize)
  }

  /**
   * Size in bytes of the bloom filter that a task may fill instead of the planned one, 0 if none. A smaller one makes the whole
   * filter as small.
   */
  def affordable(planned: Long, share: Long): Long =
    Iterator
      .iterate(planned)(_ / 2)
      .takeWhile(b => b >= 32 && b >= planned / smallest)
      .find(_ <= share)
      .getOrElse(0L)

  /** The same where a task is expected to have so many distinct keys, and sends their hashes if those take less; None if none. */
  def sent(planned: Long, keysOfTask: Double, share: Long): Option[Long] =
    if (keysOfTask * 8 <= share) Some(planned) else Some(affordable(planned, share)).filter(_ > 0)

  /** A filter of a smaller part of the planned size lets most rows pass. */
  private val smallest = 4

  /** What one task saw. */
  final case class Partial(partition: Int, facts: Array[KeyFacts])
}
