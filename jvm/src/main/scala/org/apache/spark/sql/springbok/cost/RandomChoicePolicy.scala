package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.springbok.reason.Reason

/** Chooses at random, for tests. The same seed makes the same choices. */
final private[springbok] class RandomChoicePolicy(seed: Int) extends ChoicePolicy {
  override def ignoresCost: Boolean = true

  override def whyLeftToSpark(tooLittle: => Option[Reason]): Option[Reason] =
    Option.when(choice(0, 7) == 0)(Reason.forced)

  // A revised strategy may differ from the first one, and is the same in all later revisions.
  override def strategy(in: JoinInput, join: Int, revised: Boolean): JoinChoice =
    JoinChoice.random(in, seed + join * 31 + (if (revised) 17 else 0))

  override def creationSide[S](possible: Seq[S], join: Int)(cheapest: => S): S =
    possible(choice(join, possible.size))

  override def waits(join: Int, key: Int)(pays: => Boolean): Boolean = choice(join + key, 3) > 0
  override def separatesGroups(join: Int): Boolean = choice(join, 2) == 0
  override def allowsBitmap(join: Int): Boolean = choice(join, 2) == 0
  override def sortsShuffles(group: Int)(pays: => Boolean): Boolean = choice(group, 2) == 0
  override def sortedPartitions(current: Int, bypassThreshold: Int): Int = current + 1

  private def choice(of: Int, n: Int): Int = Math.floorMod(seed + of, n)
}
