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
      val values = list.collect { case Literal(v, _) => v }
      // Spark runs the subquery once more before the scan starts: it gives the same keys.
      val keys = SparkPlanning.localTable(Seq(a.newInstance()), values.map(InternalRow(_)))
      val subquery = SubqueryExec("keys", keys)
      val id = NamedExpression.newExprId
      val finished = values.toArray[Any]
      val isBroadcast = false
      Some(DynamicPruningExpression(InSubqueryExec(a, subquery, id, isBroadcast, null, finished)))
    case EqualTo(a: Attribute, value: Literal) => runtimeFilter(In(a, Seq(value)))
    case _ => None
  }
}
