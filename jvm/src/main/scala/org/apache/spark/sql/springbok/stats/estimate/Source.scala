package org.apache.spark.sql.springbok.stats.estimate

/** Where a number comes from, best first. */
sealed abstract class Source(val name: String)

object Source {
  case object Runtime extends Source("runtime")
  case object Analyzed extends Source("analyzed")
  case object Footer extends Source("footer")
  case object Estimated extends Source("estimated")
}
