package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.springbok.reason.Reason

/** How far a runtime filter has come. A change replaces the whole state. */
sealed trait FilterState {

  /** Where the filter stands in the plan, None if it was never placed. */
  def placement: Option[Placement]

  /** Why it is in this state. */
  def reason: Reason

  /** What was learned of the build side. */
  def found: BuildFacts = BuildFacts.unknown
}

object FilterState {

  /** Not placed, or placed and then not worth its cost. */
  final case class Declined(
      reason: Reason,
      placement: Option[Placement] = None,
      override val found: BuildFacts = BuildFacts.unknown
  ) extends FilterState

  /**
   * In the plan. Its scan waits for the build side.
   *
   * @param obsolete
   *   why a later planning did not place it again
   */
  final case class Placed(at: Placement, obsolete: Option[Reason] = None) extends FilterState {
    override def placement: Option[Placement] = Some(at)
    override def reason: Reason = obsolete.getOrElse(Reason.placed)
  }

  /** In the plan. Its scan starts without it. */
  final case class Late(at: Placement) extends FilterState {
    override def placement: Option[Placement] = Some(at)
    override def reason: Reason = Reason.late
  }

  /** Applied, in one or several ways. */
  final case class Used(
      at: Placement,
      kinds: Seq[String],
      override val found: BuildFacts,
      effect: FilterEffect = FilterEffect.none
  ) extends FilterState {
    override def placement: Option[Placement] = Some(at)
    override def reason: Reason = Reason.used(kinds)
  }
}

/**
 * A filter's place in the plan.
 *
 * @param number
 *   counts the filters of a query, as in Impala
 * @param expectedRetained
 *   the fraction of the probe side's rows that is expected to pass, None if unknown
 */
final case class Placement(number: Int, expectedRetained: Option[Double])

/**
 * What was learned of a filter's build side when it had finished.
 *
 * @param retained
 *   the fraction of the probe side's rows that passes by these numbers
 * @param waitedMs
 *   time in ms from the start of the build side's stage to the decision
 */
final case class BuildFacts(
    rows: Option[Long] = None,
    keys: Option[Long] = None,
    retained: Option[Double] = None,
    waitedMs: Option[Long] = None
)

object BuildFacts {
  val unknown: BuildFacts = BuildFacts()
}

/**
 * What an applied filter takes and prunes.
 *
 * @param bytes
 *   size of the key set that rows are tested against
 * @param falsePositiveRate
 *   the fraction of non-matching keys that pass the test
 * @param rowGroups
 *   how many of the scan's row groups are pruned, and how many there are
 */
final case class FilterEffect(
    bytes: Option[Long] = None,
    falsePositiveRate: Option[Double] = None,
    rowGroups: Option[(Int, Int)] = None
)

object FilterEffect {
  val none: FilterEffect = FilterEffect()
}
