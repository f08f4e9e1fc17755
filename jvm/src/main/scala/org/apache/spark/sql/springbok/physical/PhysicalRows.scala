package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.springbok.SummarizeKeysExec
import org.apache.spark.sql.springbok.catalyst.{JoinSide, Sides}
import org.apache.spark.sql.springbok.cost.{Filtered, JoinCost}
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Rows, Source}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** Expected rows of physical operators, from the estimates for the logical nodes that they implement. */
final private[springbok] class PhysicalRows(stats: PlanStats) {

  /** Expected output rows of an operator. If nothing counts them, as many as its bytes may hold. */
  def apply(p: SparkPlan): Option[Double] =
    counted(p).orElse(p.logicalLink.flatMap(l => sizeInBytes(l).map(_ / stats(l).rowBytes)))

  /** Expected output rows of an operator, None if nothing counts them. */
  def counted(p: SparkPlan): Option[Double] = p.logicalLink.flatMap(stats(_).rows).map(_.value)

  /** The geometric mean of an operator's expected and possible output rows. */
  def risked(p: SparkPlan): Option[Double] =
    p.logicalLink.flatMap(stats(_).rows).map(r => JoinCost.risked(r.value, r.bound))

  /** The estimate for one side of a join. */
  def side(j: BaseJoinExec, s: JoinSide): Option[Estimate] = logical(j).map(sides => stats(sides(s)))

  /** The size in bytes that Spark assumes for one side of a join. */
  def sizeInBytes(j: BaseJoinExec, s: JoinSide): Option[Double] =
    logical(j).flatMap(sides => sizeInBytes(sides(s)))

  /**
   * The fraction of a side's rows that pass a join, if each of them is in the result at most once. It is at least a tenth:
   * the estimate may be wrong, and a useless test costs less than a useless row.
   */
  def passed(j: BaseJoinExec, s: JoinSide): Double = {
    val part = for {
      out <- j.logicalLink.flatMap(stats(_).rows)
      in <- side(j, s).flatMap(_.rows)
    } yield out.value / math.max(1.0, in.value)
    part.fold(1.0)(p => math.max(Filtered.leastRetained, math.min(1.0, p)))
  }

  /** The estimate for the rows that pass an exchange; those of a finished stage are counted. */
  def passing(exchange: SparkPlan): Option[Estimate] = {
    val below = SummarizeKeysExec.exchangeOf(exchange).children.headOption
    val e = below.flatMap(_.collectFirst { case p if p.logicalLink.isDefined => stats(p.logicalLink.get) })
    val counted = exchange match {
      case q: QueryStageExec if q.isMaterialized => q.getRuntimeStatistics.rowCount.map(_.toDouble)
      case _ => None
    }
    e.map(e => counted.fold(e)(n => e.withRows(Some(Rows(n, n, Source.Runtime)))))
  }

  private def logical(j: BaseJoinExec): Option[Sides[LogicalPlan]] =
    j.logicalLink.collect { case l: Join => Sides(l.left, l.right) }

  private def sizeInBytes(p: LogicalPlan): Option[Double] = Estimate.known(p.stats.sizeInBytes)
}

/** Whether an operator within a stage gives exactly the rows that it takes. */
private[springbok] object KeepsRows {
  def apply(p: SparkPlan): Boolean = p match {
    case _: ProjectExec | _: SortExec | _: AQEShuffleReadExec | _: SummarizeKeysExec => true
    case _ => false
  }
}
