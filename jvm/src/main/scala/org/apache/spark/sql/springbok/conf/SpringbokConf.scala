package org.apache.spark.sql.springbok.conf

import java.util.Locale

import org.apache.commons.text.similarity.LevenshteinDistance
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.{ConfigEntry, OptionalConfigEntry}
import org.apache.spark.network.util.ByteUnit
import org.apache.spark.sql.internal.SQLConf

/**
 * Every setting of Springbok, typed and documented; `docs/configs.md` is generated from this list.
 * A value that an entry does not allow fails when it is set, with the allowed values in the message.
 */
object SpringbokConf extends Logging {
  private val prefix = "spark.springbok."
  private val joinModes = Seq("SPARK", "BROADCAST", "PARTITIONED")
  private val filterModes = Seq("OFF", "LOCAL", "GLOBAL")
  private val filterWaits = Seq("AUTO", "ALWAYS", "NEVER")
  private val filterTypes = Seq("IN", "MINMAX", "BLOOM")

  val ENABLED: ConfigEntry[Boolean] = SQLConf
    .buildConf(prefix + "enabled")
    .doc("Whether Springbok plans queries. When false, every plan is the one that Spark makes.")
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val JOIN_ENABLED: ConfigEntry[Boolean] = SQLConf
    .buildConf(prefix + "join.enabled")
    .doc(
      "Whether the strategy of joins (broadcast hash, shuffled hash, sort-merge) is chosen by Springbok's cost model."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val JOIN_DEFAULT_MODE: ConfigEntry[String] = SQLConf
    .buildConf(prefix + "join.defaultMode")
    .doc(
      "What is done with a join whose costs are unknown or equal: SPARK leaves it to Spark's own rules, BROADCAST " +
        "and PARTITIONED take that distribution. A broadcast is made only when its size is known to be within the limits."
    )
    .version("0.1.0")
    .stringConf
    .transform(_.toUpperCase(Locale.ROOT))
    .checkValues(joinModes.toSet)
    .createWithDefault("SPARK")

  val BROADCAST_BYTES_LIMIT: ConfigEntry[Long] = SQLConf
    .buildConf(prefix + "join.broadcastBytesLimit")
    .doc(
      "Largest build side, in bytes in memory, that Springbok broadcasts, whatever the costs say; 0 broadcasts " +
        "nothing. Where it is not set, a larger spark.sql.autoBroadcastJoinThreshold takes its place, and one of -1 " +
        "broadcasts nothing but, of stages that have run, up to a spark.sql.adaptive.autoBroadcastJoinThreshold."
    )
    .version("0.1.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(_ >= 0, "The limit must be 0 or more bytes.")
    .createWithDefault(256L << 20)

  val BROADCAST_MEMORY_FRACTION: ConfigEntry[Double] = SQLConf
    .buildConf(prefix + "join.broadcastMemoryFraction")
    .doc(
      "Largest part of the heap, of the driver and of one executor, that the build side of one broadcast may take."
    )
    .version("0.1.0")
    .doubleConf
    .checkValue(v => v > 0 && v <= 1, "The fraction must be above 0 and at most 1.")
    .createWithDefault(0.1)

  val SHUFFLED_HASH_MEMORY_FRACTION: ConfigEntry[Double] = SQLConf
    .buildConf(prefix + "join.shuffledHashMemoryFraction")
    .doc(
      "Largest part of a task's share of execution memory that one partition's hash table may take in a shuffled " +
        "hash join; above it the join is a sort-merge join, which can spill."
    )
    .version("0.1.0")
    .doubleConf
    .checkValue(v => v > 0 && v <= 1, "The fraction must be above 0 and at most 1.")
    .createWithDefault(0.3)

  val REORDER_ENABLED: ConfigEntry[Boolean] = SQLConf
    .buildConf(prefix + "reorder.enabled")
    .doc(
      "Whether inner joins are put into the order that costs least, as far as statistics can tell. Off by default: " +
        "over TPC-DS it gained as much in some queries as it lost in others."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(false)

  val REORDER_MIN_GAIN: ConfigEntry[Double] = SQLConf
    .buildConf(prefix + "reorder.minGain")
    .doc("Part of the expected cost, scans included, that another join order must save.")
    .version("0.1.0")
    .doubleConf
    .checkValue(v => v >= 0 && v < 1, "The part must be at least 0 and below 1.")
    .createWithDefault(0.25)

  val CONJUNCT_ENABLED: ConfigEntry[Boolean] = SQLConf
    .buildConf(prefix + "conjunct.enabled")
    .doc("Whether the conjuncts of filters and join conditions are evaluated in the order that costs least.")
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val CHOOSE_WRITER: ConfigEntry[Boolean] = SQLConf
    .buildConf(prefix + "exchange.chooseWriter")
    .doc(
      "Whether shuffles of few rows get one partition more than spark.shuffle.sort.bypassMergeThreshold, so that each " +
        "task sorts its rows into one file instead of writing a file a partition."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val FOOTERS_ENABLED: ConfigEntry[Boolean] = SQLConf
    .buildConf(prefix + "stats.footers.enabled")
    .doc(
      "Whether row counts and column ranges are read from the footers of Parquet and ORC files; of analyzed tables too, to check " +
        "the catalog's row count."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val FOOTERS_MAX_FILES: ConfigEntry[Int] = SQLConf
    .buildConf(prefix + "stats.footers.maxFiles")
    .doc("Footers read for one table at most; the others are estimated from them by bytes.")
    .version("0.1.0")
    .intConf
    .checkValue(_ > 0, "At least one file must be read.")
    .createWithDefault(16)

  val FOOTERS_MAX_MS: ConfigEntry[Long] = SQLConf
    .buildConf(prefix + "stats.footers.maxMs")
    .doc(
      "Time in ms after which no further footer of a table is opened. What was read by then counts for the next minute."
    )
    .version("0.1.0")
    .longConf
    .checkValue(_ > 0, "The time must be above 0 ms.")
    .createWithDefault(1000L)

  val FOOTERS_MAX_PARTITIONS: ConfigEntry[Int] = SQLConf
    .buildConf(prefix + "stats.footers.maxPartitions")
    .doc(
      "Partitions that a table of the catalog may have for its files to be listed while the query is planned. Spark " +
        "lists them when the scan starts, from the same cache of listings. 0 lists none: such tables need ANALYZE."
    )
    .version("0.1.0")
    .intConf
    .checkValue(_ >= 0, "The number of partitions must not be negative.")
    .createWithDefault(5000)

  val DICTIONARIES_ENABLED: ConfigEntry[Boolean] = SQLConf
    .buildConf(prefix + "stats.dictionaries.enabled")
    .doc(
      "Whether the selectivity of a predicate on a string column is found by trying it on the values in the " +
        "dictionaries of Parquet files, of two files a table at most. Needs the footers too."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val CLUSTER_EXECUTORS: ConfigEntry[Int] = SQLConf
    .buildConf(prefix + "cluster.executors")
    .doc("Number of executors that the cost model assumes; 0 asks the running cluster.")
    .version("0.1.0")
    .intConf
    .checkValue(_ >= 0, "The number must be 0 or more.")
    .createWithDefault(0)

  val CLUSTER_CORES: ConfigEntry[Int] = SQLConf
    .buildConf(prefix + "cluster.coresPerExecutor")
    .doc("Cores of one executor that the cost model assumes; 0 asks the running cluster.")
    .version("0.1.0")
    .intConf
    .checkValue(_ >= 0, "The number must be 0 or more.")
    .createWithDefault(0)

  val CLUSTER_EXECUTOR_MEMORY: ConfigEntry[Long] = SQLConf
    .buildConf(prefix + "cluster.executorMemory")
    .doc("Heap of one executor, in bytes, that the cost model assumes; 0 asks the running cluster.")
    .version("0.1.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(_ >= 0, "The size must be 0 or more bytes.")
    .createWithDefault(0L)

  val FILTER_MODE: ConfigEntry[String] = SQLConf
    .buildConf(prefix + "runtimeFilter.mode")
    .doc(
      "Which runtime filters are made, as in Impala: OFF none, LOCAL only those of a broadcast join on a scan in " +
        "the same stage, GLOBAL all."
    )
    .version("0.1.0")
    .stringConf
    .transform(_.toUpperCase(Locale.ROOT))
    .checkValues(filterModes.toSet)
    .createWithDefault("GLOBAL")

  val FILTER_TYPES: ConfigEntry[Seq[String]] = SQLConf
    .buildConf(prefix + "runtimeFilter.types")
    .doc(
      "The kinds of runtime filter that may be used, a comma-separated list of: IN, MINMAX, BLOOM. IN is a list for " +
        "the scan, and a bitmap of whole numbers that lie close together for its rows."
    )
    .version("0.1.0")
    .stringConf
    .transform(_.toUpperCase(Locale.ROOT))
    .toSequence
    .checkValue(_.forall(filterTypes.contains), "The kinds must be among IN, MINMAX, BLOOM.")
    .createWithDefault(filterTypes)

  val FILTER_IN_LIMIT: ConfigEntry[Int] = SQLConf
    .buildConf(prefix + "runtimeFilter.inLimit")
    .doc(
      "Largest number of distinct build-side keys that a task reports as a list. Partition columns and connectors are given the " +
        "list; columns of files up to spark.sql.parquet.pushdown.inFilterThreshold keys, more of them as up to 16 ranges."
    )
    .version("0.1.0")
    .intConf
    .checkValue(v => v >= 0 && v <= 65536, "The number must be between 0 and 65536.")
    .createWithDefault(1024)

  val FILTER_BLOOM_MIN_BYTES: ConfigEntry[Long] = SQLConf
    .buildConf(prefix + "runtimeFilter.bloom.minBytes")
    .doc("Smallest bloom filter, in bytes.")
    .version("0.1.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(v => v >= 32 && v <= (64L << 20), "The size must be between 32 bytes and 64 MiB.")
    .createWithDefault(4L << 10)

  val FILTER_BLOOM_MAX_BYTES: ConfigEntry[Long] = SQLConf
    .buildConf(prefix + "runtimeFilter.bloom.maxBytes")
    .doc("Largest bloom filter, in bytes. A build side that would fill it too much gets none.")
    .version("0.1.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(v => v >= 32 && v <= (64L << 20), "The size must be between 32 bytes and 64 MiB.")
    .createWithDefault(8L << 20)

  val FILTER_BLOOM_FPP: ConfigEntry[Double] = SQLConf
    .buildConf(prefix + "runtimeFilter.bloom.falsePositiveRate")
    .doc("False-positive rate that a bloom filter is sized for.")
    .version("0.1.0")
    .doubleConf
    .checkValue(v => v > 0 && v < 1, "The rate must be between 0 and 1.")
    .createWithDefault(0.03)

  val FILTER_MERGE_BYTES: ConfigEntry[Long] = SQLConf
    .buildConf(prefix + "runtimeFilter.maxMergeBytes")
    .doc(
      "Bytes of partial bloom filters, over all tasks and keys of one build stage, that the driver may have to merge, " +
        "never more than a twentieth of its heap; keys whose partials do not fit get none."
    )
    .version("0.1.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(_ >= 0, "The size must be 0 or more bytes.")
    .createWithDefault(256L << 20)

  val FILTER_MAX_NUMBER: ConfigEntry[Int] = SQLConf
    .buildConf(prefix + "runtimeFilter.maxNumber")
    .doc("Most runtime filters, counted by target scan, in one query; those that save most are kept.")
    .version("0.1.0")
    .intConf
    .checkValue(_ >= 0, "The number must be 0 or more.")
    .createWithDefault(32)

  val FILTER_MAX_TOTAL_BYTES: ConfigEntry[Long] = SQLConf
    .buildConf(prefix + "runtimeFilter.maxTotalBytes")
    .doc("Most bytes that the bloom filters of one query may take; those that save most are kept.")
    .version("0.1.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(_ >= 0, "The size must be 0 or more bytes.")
    .createWithDefault(128L << 20)

  val FILTER_MAX_EDGE_NODES: ConfigEntry[Int] = SQLConf
    .buildConf(prefix + "runtimeFilter.maxEdgeNodes")
    .doc(
      "Operators that the build sides attached to scans may add to a plan before its stages run; bounds planning."
    )
    .version("0.1.0")
    .intConf
    .checkValue(_ >= 0, "The number must be 0 or more.")
    .createWithDefault(3000)

  val FILTER_MAX_KEYS: ConfigEntry[Int] = SQLConf
    .buildConf(prefix + "runtimeFilter.maxBroadcastKeys")
    .doc("Most keys of a broadcast relation that the driver reads to make a filter.")
    .version("0.1.0")
    .intConf
    .checkValue(_ >= 0, "The number must be 0 or more.")
    .createWithDefault(4000000)

  val FILTER_SEPARATE: ConfigEntry[Boolean] = SQLConf
    .buildConf(prefix + "runtimeFilter.separateGroups")
    .doc(
      "Whether an aggregate that a join reads in its own stage may be given a stage of its own, by one more shuffle of its " +
        "groups, where a filter of their keys is expected to save more than that."
    )
    .version("0.1.0")
    .booleanConf
    .createWithDefault(true)

  val FILTER_WAIT: ConfigEntry[String] = SQLConf
    .buildConf(prefix + "runtimeFilter.wait")
    .doc(
      "Whether a scan waits for the stage that a filter comes from: AUTO unless that stage is expected to leave cores " +
        "idle for longer than the filter saves, ALWAYS, or NEVER. Where it does not wait it starts at once, and the " +
        "tasks that begin after the filter has arrived test their rows. A scan that waits for that stage anyway, for its own broadcast join, is " +
        "always filtered. ALWAYS makes filters as well that save less than minBenefitMs; with NEVER " +
        "runtimeFilter.separateGroups does nothing."
    )
    .version("0.1.0")
    .stringConf
    .transform(_.toUpperCase(Locale.ROOT))
    .checkValues(filterWaits.toSet)
    .createWithDefault("AUTO")

  val FILTER_WAIT_TIME: ConfigEntry[Long] = SQLConf
    .buildConf(prefix + "runtimeFilter.waitTime")
    .doc(
      "Time in ms that each task of a scan which does not wait for a filter's stage waits for the filter itself, " +
        "before its first row and on its core."
    )
    .version("0.1.0")
    .longConf
    .checkValue(v => v >= 0 && v <= 600000, "The time must be between 0 and 10 minutes.")
    .createWithDefault(0L)

  val FILTER_MIN_BENEFIT_MS: ConfigEntry[Long] = SQLConf
    .buildConf(prefix + "runtimeFilter.minBenefitMs")
    .doc(
      "Time in ms that a filter must be expected to save for a scan to wait for another stage: about what it takes to " +
        "plan and schedule one. A twentieth of it for a scan that waits anyway, in the stage of a broadcast join."
    )
    .version("0.1.0")
    .longConf
    .checkValue(_ >= 0, "The time must be 0 or more ms.")
    .createWithDefault(100L)

  val FILTER_MIN_REJECTION: ConfigEntry[Double] = SQLConf
    .buildConf(prefix + "runtimeFilter.minRejection")
    .doc(
      "Part of the rows that a row-level filter must reject. It is not made when it is expected to reject less, and " +
        "a task that sees less in a sample stops testing and looks again later, where it reads files and no groups are made."
    )
    .version("0.1.0")
    .doubleConf
    .checkValue(v => v >= 0 && v < 1, "The part must be at least 0 and below 1.")
    .createWithDefault(0.1)

  val REPORT_HISTORY: ConfigEntry[Int] = SQLConf
    .buildConf(prefix + "report.history")
    .doc(
      "Reports of finished queries that a session keeps, as text, for springbok.last_reports; 0 keeps none."
    )
    .version("0.1.0")
    .intConf
    .checkValue(v => v >= 0 && v <= 1000, "The number must be between 0 and 1000.")
    .createWithDefault(20)

  /** Names a rule that is to fail; for the tests that a failing rule leaves query and answer intact. */
  val FAIL_IN: OptionalConfigEntry[String] = SQLConf
    .buildConf(prefix + "internal.failIn")
    .internal()
    .doc("Name of the rule that throws, in tests.")
    .version("0.1.0")
    .stringConf
    .createOptional

  /** Makes rare plans frequent; for the tests that no plan changes an answer. */
  val FORCED: OptionalConfigEntry[Int] = SQLConf
    .buildConf(prefix + "internal.forced")
    .internal()
    .doc(
      "A seed: every filter that may be made is made and used whatever it is worth, and the strategy of a join is " +
        "taken at random from those that compute it."
    )
    .version("0.1.0")
    .intConf
    .createOptional

  /** All settings, in the order of the documentation. */
  val all: Seq[ConfigEntry[?]] = Seq(
    ENABLED,
    JOIN_ENABLED,
    JOIN_DEFAULT_MODE,
    BROADCAST_BYTES_LIMIT,
    BROADCAST_MEMORY_FRACTION,
    SHUFFLED_HASH_MEMORY_FRACTION,
    REORDER_ENABLED,
    REORDER_MIN_GAIN,
    CONJUNCT_ENABLED,
    CHOOSE_WRITER,
    FOOTERS_ENABLED,
    DICTIONARIES_ENABLED,
    FOOTERS_MAX_FILES,
    FOOTERS_MAX_MS,
    FOOTERS_MAX_PARTITIONS,
    CLUSTER_EXECUTORS,
    CLUSTER_CORES,
    CLUSTER_EXECUTOR_MEMORY,
    FILTER_MODE,
    FILTER_TYPES,
    FILTER_IN_LIMIT,
    FILTER_BLOOM_MIN_BYTES,
    FILTER_BLOOM_MAX_BYTES,
    FILTER_BLOOM_FPP,
    FILTER_MERGE_BYTES,
    FILTER_MAX_NUMBER,
    FILTER_MAX_TOTAL_BYTES,
    FILTER_MAX_EDGE_NODES,
    FILTER_MAX_KEYS,
    FILTER_SEPARATE,
    FILTER_WAIT,
    FILTER_WAIT_TIME,
    FILTER_MIN_BENEFIT_MS,
    FILTER_MIN_REJECTION,
    REPORT_HISTORY
  )

  /** `docs/configs.md`: one row a setting. */
  def markdown: String = {
    val rows = all.map(e => s"| `${e.key}` | `${e.defaultValueString}` | ${e.doc} |")
    val intro =
      "Generated from `SpringbokConf`; `make docs` writes it anew. All can be changed in a running session. " +
        "A wrong value fails when it is set. A wrong name fails in `springbok.configure`; of names set before a session's " +
        "first query the log warns once, later ones are not seen: the report's settings show what counts."
    ("# Settings" +: "" +: intro +: "" +:
      "| setting | default | what it does |" +: "| --- | --- | --- |" +: rows).mkString("", "\n", "\n")
  }

  /** The same for programs: Python checks settings before there is a JVM. */
  def json: String = {
    import org.json4s.JsonDSL._
    import org.json4s.jackson.JsonMethods.{pretty, render}
    val settings = all.map { e =>
      val (kind, allowed) = kinds.getOrElse(
        e,
        e.defaultValue.get match {
          case _: Boolean => "boolean" -> Nil
          case _: Int => "int" -> Nil
          case _: Double => "double" -> Nil
          case _ => (if (e.key.endsWith("Ms")) "int" else "bytes") -> Nil
        }
      )
      ("key" -> e.key) ~ ("default" -> e.defaultValueString) ~ ("kind" -> kind) ~ ("allowed" -> allowed)
    }
    pretty(render(settings)) + "\n"
  }

  private lazy val kinds: Map[ConfigEntry[?], (String, Seq[String])] = Map(
    JOIN_DEFAULT_MODE -> ("string" -> joinModes),
    FILTER_MODE -> ("string" -> filterModes),
    FILTER_WAIT -> ("string" -> filterWaits),
    FILTER_WAIT_TIME -> ("int" -> Nil),
    FILTER_TYPES -> ("list" -> filterTypes)
  )

  /**
   * Largest build side in bytes that may be broadcast without a hint. Who has switched automatic broadcasts off, as Spark
   * documents it, has had a reason; who allows larger ones, too.
   *
   * @param measured
   *   whether the side has run: adaptive execution has a threshold of its own for what was measured
   */
  def broadcastBytes(conf: SQLConf, measured: Boolean): Long = {
    val limit = conf.getConf(BROADCAST_BYTES_LIMIT)
    val later = conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD).filter(_ => measured)
    val spark = later.getOrElse(conf.autoBroadcastJoinThreshold)
    if (conf.contains(BROADCAST_BYTES_LIMIT.key)) limit
    else if (spark < 0) 0
    else if (conf.autoBroadcastJoinThreshold < 0) spark
    else math.max(limit, spark)
  }

  private val warned = java.util.concurrent.ConcurrentHashMap.newKeySet[String]()

  /** Warns, once a key, of settings under `spark.springbok.` that do not exist, naming the nearest that does. */
  def warnUnknown(conf: SQLConf): Unit = {
    val known = all.map(_.key).toSet + FAIL_IN.key + FORCED.key
    for (key <- conf.getAllConfs.keys if key.startsWith(prefix) && !known(key) && warned.add(key)) {
      val distance = LevenshteinDistance.getDefaultInstance
      val nearest = all.map(_.key).minBy(k => distance(key, k).intValue)
      logWarning(s"$key is not a setting of Springbok and does nothing; the nearest one is $nearest.")
    }
  }
}
