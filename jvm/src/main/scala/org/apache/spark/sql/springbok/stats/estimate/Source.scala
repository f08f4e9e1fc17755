package org.apache.spark.sql.springbok.stats.estimate

/** Where a number comes from, best first. */
sealed abstract class Source(val name: String)

object Source {
  case object Runtime extends Source("runtime")
  case object Analyzed extends Source("analyzed")

  /** What a table format's log counts in the files that the query reads. */
  case object Log extends Source("log")
  case object Footer extends Source("footer")

  /** What a connector reports, from its snapshots, manifests or whatever it keeps. */
  case object Connector extends Source("connector")
  case object Estimated extends Source("estimated")
}
