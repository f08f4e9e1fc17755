package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.reason.Reason

/** How planning chooses among several possible plans: by expected cost, or at random for tests. */
trait ChoicePolicy {

  /** Whether a plan that is possible is also made if it is not expected to pay. */
  def ignoresCost: Boolean

  /** Why a query is left to Spark, and to one task if that is possible; None if it is planned. */
  def whyLeftToSpark(tooLittle: => Option[Reason]): Option[Reason]

  /** The strategy of the join with this id, at its first planning or when it is revised with measured sizes. */
  def strategy(in: JoinInput, join: Int, revised: Boolean): JoinChoice

  /** The side whose keys filter the other one. */
  def creationSide[S](possible: Seq[S], join: Int)(cheapest: => S): S

  /** Whether scans wait for the stage that this key of the join comes from. */
  def waits(join: Int, key: Int)(pays: => Boolean): Boolean

  /** Where rows are aggregated below joins, if anywhere. */
  def aggregated[P](possible: Seq[P])(pays: => Option[P]): Option[P]

  /** Whether the groups that this join reads get a stage of their own even if that is not expected to pay. */
  def separatesGroups(join: Int): Boolean

  /** Whether a filter of this join may be a bitmap if its keys allow one. */
  def allowsBitmap(join: Int): Boolean

  /** Whether the exchanges of a group, which need the same number of partitions, use the sorting shuffle writer. */
  def sortsShuffles(group: Int)(pays: => Boolean): Boolean

  /** Partitions of an exchange that is to use the sorting shuffle writer. */
  def sortedPartitions(current: Int, bypassThreshold: Int): Int
}

object ChoicePolicy {

  /** The policy of one planning. */
  def of(conf: SQLConf): ChoicePolicy =
    conf.getConf(SpringbokConf.FORCED).fold[ChoicePolicy](CostBasedPolicy)(new RandomChoicePolicy(_))
}

private object CostBasedPolicy extends ChoicePolicy {
  override def ignoresCost: Boolean = false
  override def whyLeftToSpark(tooLittle: => Option[Reason]): Option[Reason] = tooLittle
  override def strategy(in: JoinInput, join: Int, revised: Boolean): JoinChoice = JoinChoice(in)
  override def creationSide[S](possible: Seq[S], join: Int)(cheapest: => S): S = cheapest
  override def waits(join: Int, key: Int)(pays: => Boolean): Boolean = pays
  override def aggregated[P](possible: Seq[P])(pays: => Option[P]): Option[P] = pays
  override def separatesGroups(join: Int): Boolean = false
  override def allowsBitmap(join: Int): Boolean = true
  override def sortsShuffles(group: Int)(pays: => Boolean): Boolean = pays
  override def sortedPartitions(current: Int, bypassThreshold: Int): Int = bypassThreshold + 1
}

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
  override def aggregated[P](possible: Seq[P])(pays: => Option[P]): Option[P] =
    possible.lift(choice(5, possible.size + 1))

  override def separatesGroups(join: Int): Boolean = choice(join, 2) == 0
  override def allowsBitmap(join: Int): Boolean = choice(join, 2) == 0
  override def sortsShuffles(group: Int)(pays: => Boolean): Boolean = choice(group, 2) == 0
  override def sortedPartitions(current: Int, bypassThreshold: Int): Int = current + 1

  private def choice(of: Int, n: Int): Int = Math.floorMod(seed + of, n)
}
