package org.apache.spark.sql.springbok.record

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
