package org.apache.spark.sql.springbok.rules.reorder

import org.apache.spark.sql.springbok.catalyst.ExpressionLabel
import org.apache.spark.sql.springbok.cost.Scenario
import org.apache.spark.sql.springbok.reason.Reason

/** A condition for another order of joins. A cost that is not a number fulfils none. */
sealed private[reorder] trait OrderGate {

  /** Why the query's order stays. */
  def against(c: OrderCandidate): Option[Reason]
}

private[reorder] object OrderGate {

  /** The cheap conditions come first: the order also decides which reason is reported. */
  private val all: Seq[OrderGate] = Seq(SavesShare, SavesTime, HoldsWithoutGuesses, HoldsIfEstimatesAreOff)

  /** Part of the gain that may be lost where something is other than expected. */
  private val tolerance = 0.5

  def against(c: OrderCandidate): Option[Reason] =
    all.iterator.map(_.against(c)).collectFirst { case Some(why) => why }

  private case object SavesShare extends OrderGate {
    override def against(c: OrderCandidate): Option[Reason] =
      Option.unless(c.gain > 0 && c.gain >= c.limits.share)(
        Reason.smallGain(math.max(0, c.gain), c.limits.share)
      )
  }

  /** A short query takes longer to compile for another plan than it may gain. */
  private case object SavesTime extends OrderGate {
    override def against(c: OrderCandidate): Option[Reason] = {
      val saved = c.limits.wallMs(c.beforeNs - c.afterNs)
      Option.unless(saved >= c.limits.ms)(Reason.shortGain(saved, c.limits.ms))
    }
  }

  private case object HoldsWithoutGuesses extends OrderGate {
    override def against(c: OrderCandidate): Option[Reason] = {
      val loss = c.loss(c.graph.assuming(Scenario.NothingGuessed))
      Option.unless(loss <= c.gain * tolerance)(Reason.guessedGain(c.gain, loss))
    }
  }

  private case object HoldsIfEstimatesAreOff extends OrderGate {
    override def against(c: OrderCandidate): Option[Reason] = {
      val losses = Scenario.of(c.graph).iterator.map(s => s -> c.loss(c.graph.assuming(s)))
      losses.collectFirst {
        case (s, loss) if !(loss <= c.gain * tolerance) =>
          Reason.uncertainGain(c.gain, loss, label(s, c.block))
      }
    }
  }

  /** What is other than expected, as the end of a sentence. */
  private def label(s: Scenario, b: JoinBlock): String = s match {
    case Scenario.NothingGuessed => "no guessed predicate removes a row"
    case Scenario.More(i) => s"the joins with ${RelationName(b.items(i))} leave more rows"
    case Scenario.Less(i) => s"the joins with ${RelationName(b.items(i))} leave fewer rows"
    case Scenario.Skewed(k) =>
      s"the most frequent values of ${ExpressionLabel(b.keys(k).head._2)} are the same"
  }
}
