package org.apache.spark.sql.springbok.stats.operator

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Expand, Generate, Sample, UnaryNode}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.springbok.stats.estimate.{Estimate, Uniqueness}
import org.apache.spark.sql.types.IntegerType

/** Operators that make a number of rows of each: expansions, generators, samples. No column is unique after them. */
private[operator] object MultipliedStats {
  def apply(e: Expand, child: Estimate): Estimate = times(e, child, e.projections.size.toDouble)

  def apply(s: Sample, child: Estimate): Estimate =
    times(
      s,
      child,
      math.min(if (s.withReplacement) Double.MaxValue else 1.0, math.max(0.0, s.upperBound - s.lowerBound))
    )

  /** The number is known of arrays that are literals, and unknown of columns. */
  def apply(g: Generate, child: => Estimate): Estimate = {
    val each = g.generator match {
      case Explode(array) => elements(array)
      case PosExplode(array) => elements(array)
      case Stack(Literal(n: Int, IntegerType) +: _) => Some(n)
      case _ => None
    }
    each.fold(Estimate.unknown(g.output))(n => times(g, child, if (g.outer) math.max(1.0, n) else n.toDouble))
  }

  private def elements(array: Expression): Option[Int] = array match {
    case CreateArray(items, _) => Some(items.size)
    case Literal(a: ArrayData, _) => Some(a.numElements())
    case _ => None
  }

  private def times(plan: UnaryNode, child: Estimate, by: Double): Estimate = {
    val columns = AttributeMap(child.columns.toSeq.collect {
      case (a, s) if plan.outputSet.contains(a) => a -> s.copy(uniqueness = Uniqueness.Unknown)
    })
    val bytes = Estimate.rowBytes(plan.output, columns) + child.unexplainedBytes(plan.child.output)
    Estimate(child.rows.map(_.scale(by)), bytes, columns).narrowed
  }
}
