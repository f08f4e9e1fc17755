package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.springbok.catalyst.JoinSide
import org.apache.spark.sql.springbok.keys.FilterKey
import org.apache.spark.sql.springbok.physical.PhysicalRows

/** An exchange that filters of a join are read from, and the join's conjuncts with their creation side's keys there. */
final private[springbok] case class FilterSource(exchange: SparkPlan, conjuncts: Seq[FilterConjunct])

private[springbok] object FilterSource {

  /**
   * What filters of a join are read from: the exchange that its creation side comes straight out of. If the creation side is
   * computed in the join's own stage, because it is partitioned by the join's keys already, it is an exchange below. Of
   * several exchanges that have not finished, the one with the fewest rows is taken.
   *
   * @param built
   *   the creation side, with the filters of other joins in it
   */
  def of(j: BaseJoinExec, creation: JoinSide, built: SparkPlan, rows: PhysicalRows): Option[FilterSource] =
    BuildSides.exchange(built) match {
      case Some(e) => Some(FilterSource(e, FilterConjunct.of(j, creation)))
      case None if !j.isInstanceOf[ShuffledJoin] => None
      case None =>
        val found =
          for {
            on <- FilterConjunct.of(j, creation)
            key <- FilterKey.of(on.creation).toSeq
            (e, there) <- below(built, key)
            at = on.copy(creation = there, from = Some(e))
            // There it is computed for rows that do not reach the join.
            if FilterKey.admissible(there) && BuildSides.sourceKey(e, j, creation, at, rows).isDefined
          } yield e -> at
        def size(e: SparkPlan) = rows.passing(e).flatMap(_.rows).fold(Double.MaxValue)(_.value)
        found.map(_._1).minByOption(e => (!BuildSides.finished(e), size(e))).map { best =>
          FilterSource(best, found.collect { case (e, on) if e eq best => on }.distinctBy(_.index))
        }
    }

  /**
   * The shuffles that all values of a key have passed, and the key there.
   *
   * The search stops at an aggregate or a window's limit. Adaptive execution replaces the logical node of an aggregate by
   * the stage of the exchange in its middle, and finds it by the first operator that implements the node. With a filter
   * dependency that would be the wrong one.
   */
  private def below(p: SparkPlan, key: Expression): Seq[(SparkPlan, Expression)] = p match {
    case _: ShuffleExchangeExec | _: ShuffleQueryStageExec => Seq(p -> key)
    case _: UnionExec => Nil
    case _ if KeyTrace.groups(p) => Nil
    case _ => KeyTrace.routes(p, key).flatMap(r => below(p.children(r.child), r.key))
  }
}
