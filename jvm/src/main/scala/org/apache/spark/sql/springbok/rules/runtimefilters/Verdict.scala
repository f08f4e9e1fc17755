package org.apache.spark.sql.springbok.rules.runtimefilters

import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.{BuildFacts, FilterEffect}

/** What is decided about a placed filter once its build side has finished. */
sealed private[springbok] trait Verdict {

  /** What was learned of the build side. */
  def found: BuildFacts
}

private[springbok] object Verdict {

  /** It passes every row. */
  final case class Decline(why: Reason, found: BuildFacts = BuildFacts.unknown) extends Verdict

  /**
   * It is pushed to the scan, or tested row by row, or both.
   *
   * @param pushed
   *   what the scan is told, or why it is told nothing
   */
  final case class Apply(pushed: Either[Reason, PushedFilter], row: Option[RowTest], found: BuildFacts)
      extends Verdict {
    def kinds: Seq[String] = (pushed.toSeq.flatMap(_.kinds) ++ row.map(_.kind)).distinct

    def effect: FilterEffect = FilterEffect(
      bytes = row.flatMap(_.keySet).map(_.bytes),
      falsePositiveRate = row.flatMap(_.keySet).map(_.falsePositiveRate),
      rowGroups = pushed.toOption.flatMap(_.rowGroups),
      pushed = Some(pushed.map(_.way.name))
    )
  }
}
