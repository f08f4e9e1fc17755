package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.{ConfigEntry, OptionalConfigEntry}
import org.apache.spark.sql.internal.SQLConf

/** The switch for everything, and settings for tests. */
object SpringbokConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = flag("enabled", default = true)(
    "Whether Springbok plans queries. If false, every plan is the one that Spark makes."
  )

  val SHADOW: ConfigEntry[Boolean] = flag("shadow", default = false)(
    "Whether Spark plans and runs every query alone, and Springbok reports afterwards what it would have planned."
  )

  /** Whether Springbok changes plans. */
  def plans(conf: SQLConf): Boolean = conf.getConf(ENABLED) && !conf.getConf(SHADOW)

  /** Makes one rule fail, for the tests that a failing rule leaves query and answer intact. */
  val FAIL_IN: OptionalConfigEntry[String] =
    internal("failIn", "Name of the rule that throws, in tests.")(_.stringConf)

  /** Makes rare plans frequent, for the tests that no plan changes an answer. */
  val FORCED: OptionalConfigEntry[Int] = internal(
    "forced",
    "A seed: every possible filter is made and used whatever it is worth, and the strategy of a join is taken at random " +
      "from those that can compute it."
  )(_.intConf)
}

/** Queries that are left to Spark. */
object GuardConf extends ConfArea {

  val EXCLUDE: ConfigEntry[Seq[String]] =
    fingerprints("guard.exclude")(
      "Fingerprints of queries that Spark plans alone. A report, the log's line of a query and the event have its fingerprint."
    )

  val EXCLUDE_FILE: ConfigEntry[String] = path("guard.excludeFile")(
    "Path of a file with further fingerprints, one in a line. A running application reads it again within 10 s of a change."
  )

  val CONTROL: ConfigEntry[Double] =
    fraction("guard.controlShare", 0, v => v >= 0 && v <= 1, "must be between 0 and 1")(
      "Share of the runs, taken at random, that Spark plans alone, to compare with the others."
    )

  val AUTOMATIC: ConfigEntry[Boolean] = flag("guard.automatic", default = false)(
    "Whether a query is left to Spark after five runs that were slower than five runs of its control group by more than noise, until the application ends."
  )
}

/** The order of conjuncts. */
object ConjunctConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = expert(
    flag("conjunct.enabled", default = true)(
      "Whether the conjuncts of filters and join conditions are evaluated in the order with the lowest expected cost."
    )
  )
}

/** Subplans that are computed once. */
object SubplanConf extends ConfArea {

  val MERGE: ConfigEntry[Boolean] = expert(
    flag("subplan.merge", default = true)(
      "Whether aggregates without groups that differ in their filters alone are computed in one pass (Spark 4.2 or later)."
    )
  )
}

/** Aggregates above joins. */
object AggregateConf extends ConfArea {

  val BELOW_JOINS: ConfigEntry[Boolean] = expert(
    flag("aggregate.belowJoins", default = true)(
      "Whether tasks aggregate rows before they join them, where that is expected to leave few rows to join."
    )
  )

  val MIN_GAIN_MS: ConfigEntry[Long] = expert(
    time("aggregate.minGainMs", 50, _ >= 0, "The time must be 0 or more.")(
      "Expected ms that aggregating before a join must save while all cores work."
    )
  )
}

/** MERGE. */
object MergeConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = flag("merge.enabled", default = false)(
    "Whether the range of the source's keys is added to the condition of a MERGE, so that Delta and Iceberg skip files of the target. " +
      "It is done if the source is small and gives the same rows when it is read twice."
  )

  val MIN_TARGET: ConfigEntry[Long] = expert(
    bytes("merge.minTargetBytes", 64L << 20, _ >= 0, "The size must be 0 or more bytes.")(
      "Size in bytes that the target must have. Reading the keys would cost more than reading a smaller one."
    )
  )
}

/** Shuffles. */
object ExchangeConf extends ConfArea {

  val CHOOSE_WRITER: ConfigEntry[Boolean] = expert(
    flag("exchange.chooseWriter", default = true)(
      "Uses the sort-based shuffle writer for shuffles with few rows: they get one partition more than " +
        "spark.shuffle.sort.bypassMergeThreshold."
    )
  )
}

/** How long planning may take. */
object PlanningConf extends ConfArea {

  val BUDGET: ConfigEntry[Double] =
    fraction("planning.budget", 0.25, (f: Double) => f >= 0 && f <= 1, "must be between 0 and 1")(
      "Springbok plans a query only if its rules are expected to take at most this fraction of the time for reading and " +
        "joining the query's data. Otherwise Spark plans it, and the report says so. If 0, Springbok plans every query."
    )
}

/** The order of inner joins. */
object ReorderConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = flag("reorder.enabled", default = true)(
    "Whether inner joins are reordered where the new order should save much and would not lose if estimates are off."
  )

  val MIN_GAIN: ConfigEntry[Double] =
    expert(
      fraction("reorder.minGain", 0.25, v => v >= 0 && v < 1, "The part must be at least 0 and below 1.")(
        "Fraction of the expected cost, scans included, that another join order must save."
      )
    )

  val MIN_GAIN_MS: ConfigEntry[Long] =
    expert(
      time("reorder.minGainMs", 50, _ >= 0, "The time must be 0 or more.")(
        "Expected ms that another join order must save while all cores work. A build side that waits for another stage is " +
          "charged with the same time."
      )
    )
}

/** Reports of queries. */
object ReportConf extends ConfArea {

  val RETAINED: ConfigEntry[Int] =
    expert(
      number("report.retained", 20, v => v >= 0 && v <= 1000, "The number must be between 0 and 1000.")(
        "Number of reports of finished queries that a session keeps, as text, for springbok.last_reports. If 0, none is kept."
      )
    )

  val EVENTS: ConfigEntry[Boolean] =
    flag("report.events", true)(
      "Whether reports of finished queries are sent to Spark's listeners. The tab of the Spark UI, the event log and the History Server show no reports if this is false."
    )

  val LITERALS: ConfigEntry[Boolean] =
    flag("report.literals", true)(
      "Whether reports and EXPLAIN's section show the literals of a query. If false, a question mark stands for each, and the SQL text is left out."
    )

  val MAX_BYTES: ConfigEntry[Long] =
    expert(
      bytes("report.maxBytes", 1L << 20, _ >= 1024, "The size must be at least 1024 bytes.")(
        "Size of a report that is sent to Spark's listeners. A larger one is sent without alternatives and operators; if it is still larger, it is not sent."
      )
    )

  val UI_RETAINED: ConfigEntry[Int] =
    expert(
      number("report.ui.retained", 200, v => v >= 1 && v <= 10000, "The number must be between 1 and 10000.")(
        "Number of reports in the tab of the Spark UI, and of the History Server. It is read when the application starts."
      )
    )
}
