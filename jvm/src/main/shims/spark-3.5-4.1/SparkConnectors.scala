package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{InSubqueryExec, SubqueryExec}

/** Runtime filters of connectors' scans, where versions of Spark differ. */
object SparkConnectors {

  /** Whether a scan takes predicates that are no lists of keys. */
  val takeRanges: Boolean = false

  /** The predicate as a scan takes it; None if it cannot. These versions take the keys of a finished subquery alone. */
  def runtimeFilter(predicate: Expression): Option[Expression] = predicate match {
    case In(a: Attribute, list) if list.forall(_.isInstanceOf[Literal]) =>
      Some(oneOf(a, list.collect { case Literal(v, _) => v }))
    case InSet(a: Attribute, values) => Some(oneOf(a, values.toSeq))
    case EqualTo(a: Attribute, Literal(v, _)) => Some(oneOf(a, Seq(v)))
    case _ => None
  }

  private def oneOf(a: Attribute, values: Seq[Any]): Expression = {
    // Spark runs the subquery once more before the scan starts: it gives the same keys.
    val keys = SparkPlanning.localTable(Seq(a.newInstance()), values.map(InternalRow(_)))
    val subquery = SubqueryExec("keys", keys)
    val id = NamedExpression.newExprId
    val isBroadcast = false
    DynamicPruningExpression(InSubqueryExec(a, subquery, id, isBroadcast, null, values.toArray[Any]))
  }
}
