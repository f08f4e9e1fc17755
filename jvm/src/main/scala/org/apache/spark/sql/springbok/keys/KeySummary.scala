package org.apache.spark.sql.springbok.keys

import java.util.{BitSet => JBitSet}

import org.apache.spark.TaskContext
import org.apache.spark.sql.springbok.catalyst.SentOnce
import org.apache.spark.sql.types.DataType
import org.apache.spark.util.AccumulatorV2

/**
 * Summaries of the keys of one build stage: one [[KeyFacts]] a key, and which map partitions reported. Merged on the
 * scheduler's event loop, so partials are bounded: bloom filters by `mergeBytes` over all tasks and keys of the stage, and by
 * `taskBytes` in one task. The lists of each key have about `mergeBytes` as well, and room for a few values in each task.
 *
 * @param keys
 *   type and bloom size in bytes of each key
 */
final class KeySummary(keys: Seq[(DataType, Long)], limit: Int, mergeBytes: Long, taskBytes: Long)
    extends SentOnce[KeySummary.Partial, KeySummary] {
  private var facts: Array[KeyFacts] = fresh(Long.MaxValue, Long.MaxValue)
  private val reported = new JBitSet()

  /** Bloom filters for as many keys, in their order, as `bytes` allow, and lists of `listBytes` for each key. */
  private def fresh(bytes: Long, listBytes: Long): Array[KeyFacts] = {
    var left = bytes
    val listed =
      math.min(limit.toLong, math.max(KeySummary.leastListed, listBytes / KeySummary.valueBytes)).toInt
    keys.map { case (t, bloomBytes) =>
      val affordable = bloomBytes <= left
      if (affordable) left -= bloomBytes
      val texts = math.min(KeyFacts.maxListedBytes, math.max(KeySummary.leastBytes, listBytes))
      new KeyFacts(t, listed, if (affordable) bloomBytes else 0L, listBytes = texts)
    }.toArray
  }

  /** On an executor: what this task adds to; it is reported when the task succeeds. */
  def begin(partition: Int): Array[KeyFacts] = {
    val context = TaskContext.get()
    // Every task of the stage sees the same number of tasks, so all decide alike.
    val share = math.min(mergeBytes / (if (context == null) 1 else context.numPartitions()), taskBytes)
    val mine = fresh(share, share)
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
    facts = fresh(Long.MaxValue, Long.MaxValue)
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

  /** What one task saw. */
  final case class Partial(partition: Int, facts: Array[KeyFacts])
}
