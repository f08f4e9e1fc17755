package org.apache.spark.sql.springbok.conf

import java.util.concurrent.ConcurrentHashMap

import org.apache.commons.text.similarity.LevenshteinDistance
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.internal.SQLConf

/** All settings of Springbok. `docs/configs.md` and Python's `settings.json` are generated from this list. */
object Settings extends Logging {

  private val areas = Seq(
    SpringbokConf,
    GuardConf,
    PlanningConf,
    JoinConf,
    ReorderConf,
    ConjunctConf,
    SubplanConf,
    AggregateConf,
    MergeConf,
    ExchangeConf,
    StatsConf,
    ClusterConf,
    FilterConf,
    ReportConf
  )

  /** In the order of the documentation. The first use makes all areas known to Spark, so that it checks their values. */
  val all: Seq[Setting] = areas.flatMap(_.settings)

  /** Entries of all settings, in the order of the documentation. */
  val entries: Seq[ConfigEntry[?]] = all.map(_.entry)

  private val warned = ConcurrentHashMap.newKeySet[String]()

  /** Warns once about each key under `spark.springbok.` that does not exist, and names the nearest one that does. */
  def warnUnknown(conf: SQLConf): Unit = {
    val known = (entries ++ areas.flatMap(_.internals)).map(_.key).toSet
    for (key <- conf.getAllConfs.keys if key.startsWith(ConfArea.prefix) && !known(key) && warned.add(key)) {
      val distance = LevenshteinDistance.getDefaultInstance
      val nearest = entries.map(_.key).minBy(k => distance(key, k).intValue)
      logWarning(s"$key is not a setting of Springbok and does nothing; the nearest one is $nearest.")
    }
  }

  /** `docs/configs.md`: one row per documented setting. */
  def markdown: String = {
    val rows = all.filter(_.documented).map(_.entry).map { e =>
      s"| `${e.key}` | `${e.defaultValueString}` | ${e.doc} |"
    }
    val intro =
      "Generated from the package `conf`; `make docs` writes it anew. These settings can be changed in a running session. The\n" +
        "package has further ones, for support and experiments: they are set in the same way and checked as well.\n\n" +
        "Spark rejects a wrong value when it is set. `springbok.configure` rejects an unknown name. If an unknown name is set\n" +
        "in another way before a session's first query, the log warns once. The report lists the settings that differ from their defaults."
    ("# Settings" +: "" +: intro +: "" +:
      "| setting | default | what it does |" +: "| --- | --- | --- |" +: rows).mkString("", "\n", "\n")
  }

  /** `settings.json`: Python checks settings before there is a JVM. */
  def json: String = {
    import org.json4s.JsonDSL._
    import org.json4s.jackson.JsonMethods.{pretty, render}
    val settings = all.map { s =>
      ("key" -> s.entry.key) ~ ("default" -> s.entry.defaultValueString) ~ ("kind" -> s.kind) ~
        ("allowed" -> s.allowed)
    }
    pretty(render(settings)) + "\n"
  }
}
