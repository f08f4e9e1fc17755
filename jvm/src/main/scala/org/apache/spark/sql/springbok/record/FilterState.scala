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
