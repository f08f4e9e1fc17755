package org.apache.spark.sql.execution.springbok

import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression, Unevaluable}
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.keys.kept.CollectsKeys
import org.apache.spark.sql.springbok.physical.LateFilter
import org.apache.spark.sql.springbok.record.{FilterRecord, PlanningState}
import org.apache.spark.sql.types.DataType

/**
 * What is known of a filter when it is placed. Only `grouped` is part of the plan's identity.
 *
 * @param domain
 *   distinct values that the probe side's key takes, None if unknown
 * @param saving
 *   what a removed row saves between scan and join
 * @param hinted
 *   whether the query asks for it by a hint
 * @param pushable
 *   whether the scan may be told of it: nothing else reads by the same one
 * @param grouped
 *   whether rows are grouped between scan and join: then rows of a group must go together, or what is computed of the
 *   rest of a group that has no match might raise an error that the whole group does not
 * @param local
 *   whether the scan is in the stage of the broadcast join that the filter is of
 * @param late
 *   the filter as one that the scan does not wait for, if it is one
 * @param known
 *   the keys of the build side, if an earlier query has collected them. Then nothing waits for the build side
 * @param collects
 *   what is kept of the build side for later queries, if its keys may be kept
 */
final case class FilterInfo(
    query: PlanningState,
    record: FilterRecord,
    domain: Option[Double],
    saving: FilterCost.Saving,
    minRejection: Double,
    hinted: Boolean = false,
    pushable: Boolean = true,
    grouped: Boolean = false,
    local: Boolean = false,
    late: Option[LateFilter] = None,
    known: Option[KeptKeysExec] = None,
    collects: Option[CollectsKeys] = None
) {

  /** The key in the plan's canonical form: a scan whose groups stay whole is another one than a scan that may leave a part. */
  def identity(key: Expression): Expression = if (grouped) WholeGroups(key) else key
}

/** A key whose rows are all tested, in canonical forms. */
final private case class WholeGroups(child: Expression) extends UnaryExpression with Unevaluable {
  override def dataType: DataType = child.dataType
  override protected def withNewChildInternal(newChild: Expression): WholeGroups = copy(newChild)
}
