package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.{ConfigEntry, OptionalConfigEntry}

/** The switch for everything, and settings for tests. */
object SpringbokConf extends ConfArea {

  val ENABLED: ConfigEntry[Boolean] = flag("enabled", default = true)(
    "Whether Springbok plans queries. If false, every plan is the one that Spark makes."
  )

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
