package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.springbok.cost.FilterCost

/**
 * A runtime filter as a planning places it. The plan's operators carry it.
 *
 * @param record
 *   how far it has come
 * @param number
 *   counts the filters of a query, as in Impala
 * @param expectedRetained
 *   the fraction of the probe side's rows that is expected to pass, None if unknown
 * @param saving
 *   what a removed row saves between scan and join
 * @param minRejection
 *   the fraction of rows that it must remove
 * @param domain
 *   distinct values that the probe side's key takes, None if unknown
 * @param waiting
 *   whether its scan waits, by the costs
 * @param hinted
 *   whether the query asks for it by a hint
 * @param pushable
 *   whether the scan may take it: nothing else reads by the same scan
 * @param grouped
 *   whether rows are grouped between scan and join: then rows of a group must go together, or what is computed of the
 *   rest of a group that has no match might raise an error that the whole group does not
 * @param mayBeLate
 *   whether it may arrive while its scan runs
 */
final case class RuntimeFilter(
    join: JoinState,
    record: FilterRecord,
    number: Int,
    expectedRetained: Option[Double],
    saving: FilterCost.Saving,
    minRejection: Double,
    domain: Option[Double] = None,
    timing: FilterTiming = FilterTiming.Waits,
    waiting: Option[ScanWait] = None,
    hinted: Boolean = false,
    pushable: Boolean = true,
    grouped: Boolean = false,
    mayBeLate: Boolean = false
) {
  def id: String = s"RF${"0" * (3 - number.toString.length)}$number"
}

/**
 * The column of a table that a filter is applied to.
 *
 * @param id
 *   the scan's column, which tells tables of one name apart
 */
final case class FilterColumn(table: String, column: String, id: ExprId)

/**
 * Whether the scans of a key's filters wait for the stage that they come from.
 *
 * @param benefitMs
 *   time in ms of all cores that the filters are expected to save
 * @param idleMs
 *   time in ms of all cores that is expected to be lost while the scans wait, None if the costs did not decide
 */
final case class ScanWait(waits: Boolean, benefitMs: Double, idleMs: Option[Double] = None)

/** When a scan starts that a filter is applied to. */
sealed abstract class FilterTiming(val name: String)
object FilterTiming {

  /** After the stage that the filter comes from. */
  case object Waits extends FilterTiming("waits")

  /** After that stage in any case: it is in the stage of a broadcast join, which needs the same build side. */
  case object Local extends FilterTiming("local")

  /** At once. The filter arrives while it runs. */
  case object Late extends FilterTiming("late")
}
