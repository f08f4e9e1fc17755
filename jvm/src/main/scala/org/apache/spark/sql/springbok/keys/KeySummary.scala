package org.apache.spark.sql.springbok.keys

import java.util.{BitSet => JBitSet}

import org.apache.spark.TaskContext
import org.apache.spark.sql.springbok.catalyst.SentOnce
import org.apache.spark.sql.types.DataType
import org.apache.spark.util.AccumulatorV2

/**
 * Summaries of the keys of one build stage: one [[KeyFacts]] a key, and which map partitions reported. Merged on the
 * scheduler's event loop, so partials are bounded: `mergeBytes` over all tasks and keys of the stage, of one task
 * `taskBytes`.
 *
 * @param keys
 *   type and bloom size in bytes of each key
 */
final class KeySummary(keys: Seq[(DataType, Long)], limit: Int, mergeBytes: Long, taskBytes: Long)
    extends SentOnce[KeySummary.Partial, KeySummary] {
  private var facts: Array[KeyFacts] = fresh(Long.MaxValue)
  private val reported = new JBitSet()

  /** Bloom filters for as many keys, in their order, as `bytes` allow. */
  private def fresh(bytes: Long): Array[KeyFacts] = {
    var left = bytes
    keys.map { case (t, bloomBytes) =>
      val affordable = bloomBytes <= left
      if (affordable) left -= bloomBytes
      new KeyFacts(t, limit, if (affordable) bloomBytes else 0L)
    }.toArray
  }

  /** On an executor: what this task adds to; it is reported when the task succeeds. */
  def begin(partition: Int): Array[KeyFacts] = {
    val context = TaskContext.get()
    // Every task of the stage sees the same number of tasks, so all decide alike.
    val share = mergeBytes / (if (context == null) 1 else context.numPartitions())
    val mine = fresh(math.min(share, taskBytes))
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
    facts = fresh(Long.MaxValue)
    reported.clear()
  }

  override def add(p: KeySummary.Partial): Unit = {
    facts = facts.zip(p.facts).map { case (a, b) => a.union(b) }
    reported.set(p.partition)
  }

  override def merge(other: AccumulatorV2[KeySummary.Partial, KeySummary]): Unit = other match {
    case o: KeySummary =>
      facts = facts.zip(o.facts).map { case (a, b) => a.union(b) }
      reported.or(o.reported)
    case _ => throw new UnsupportedOperationException(s"a ${other.getClass.getName} is no summary of keys")
  }

  override def value: KeySummary = this

  /** An accumulator prints its value, and that is this one. */
  override def toString: String = s"KeySummary(${keys.size} keys, $partitions partitions)"
}

object KeySummary {

  /** What one task saw. */
  final case class Partial(partition: Int, facts: Array[KeyFacts])
}
