package org.apache.spark.sql.springbok.conf

import org.apache.spark.internal.config.ConfigEntry

/** Runtime filters. */
object FilterConf extends ConfArea {

  val MODE: ConfigEntry[FilterMode] = mode("runtimeFilter.mode", FilterMode.Global, FilterMode)(
    "Which runtime filters are made, as in Impala: OFF none, LOCAL only those of a broadcast join on a scan in the same " +
      "stage, GLOBAL all. PLAIN tells scans of the keys of finished broadcasts in predicates, and adds no operator to a plan. " +
      "Beside a native engine, that is done in any mode but OFF."
  )

  val TYPES: ConfigEntry[Seq[FilterType]] =
    expert(
      modes("runtimeFilter.types", FilterType, "The kinds must be among IN, MINMAX, BLOOM.")(
        "The kinds of runtime filter that may be used, a comma-separated list of IN, MINMAX and BLOOM. IN gives the scan a " +
          "list of keys, and tests rows by a bitmap if the keys are integral and lie close together."
      )
    )

  val IN_LIMIT: ConfigEntry[Int] =
    expert(
      number(
        "runtimeFilter.inLimit",
        1024,
        v => v >= 0 && v <= 65536,
        "The number must be between 0 and 65536."
      )(
        "Largest number of distinct build-side keys that a task reports as a list. Partition columns and connectors get the " +
          "list. Columns of files get up to spark.sql.parquet.pushdown.inFilterThreshold keys; more keys become up to 16 " +
          "ranges."
      )
    )

  val BLOOM_MIN_BYTES: ConfigEntry[Long] =
    expert(bloomBytes("runtimeFilter.bloom.minBytes", 4L << 10)("Smallest bloom filter, in bytes."))

  val BLOOM_MAX_BYTES: ConfigEntry[Long] = bloomBytes("runtimeFilter.bloom.maxBytes", 8L << 20)(
    "Largest bloom filter, in bytes. A build side with too many keys for it gets none."
  )

  val BLOOM_FPP: ConfigEntry[Double] =
    expert(
      fraction(
        "runtimeFilter.bloom.falsePositiveRate",
        0.03,
        v => v > 0 && v < 1,
        "The rate must be between 0 and 1."
      )(
        "False-positive rate for which a bloom filter is sized."
      )
    )

  val MERGE_BYTES: ConfigEntry[Long] =
    expert(
      bytes("runtimeFilter.maxMergeBytes", 256L << 20, _ >= 0, "The size must be 0 or more bytes.")(
        "Most bytes of partial bloom filters, over all tasks and keys of one build stage, that the driver merges. The limit " +
          "is never more than a twentieth of the driver's heap. Keys whose partial filters do not fit get no bloom filter."
      )
    )

  val MAX_NUMBER: ConfigEntry[Int] =
    expert(
      number("runtimeFilter.maxNumber", 32, _ >= 0, "The number must be 0 or more.")(
        "Most runtime filters of one query, counted by target scan. The filters that save most are kept."
      )
    )

  val MAX_TOTAL_BYTES: ConfigEntry[Long] =
    expert(
      bytes("runtimeFilter.maxTotalBytes", 128L << 20, _ >= 0, "The size must be 0 or more bytes.")(
        "Most bytes that the bloom filters of one query may take. The filters that save most are kept."
      )
    )

  val MAX_IDLE: ConfigEntry[Long] =
    expert(
      time("runtimeFilter.maxIdle", 3000L, _ >= 0, "The time must be 0 or more ms.")(
        "Time in ms for which all cores may be idle while a scan waits for a filter, even if the filter saves less. Then the " +
          "scan starts, and its later tasks use the filter when it arrives."
      )
    )

  val MAX_KEYS: ConfigEntry[Int] =
    expert(
      number("runtimeFilter.maxBroadcastKeys", 4000000, _ >= 0, "The number must be 0 or more.")(
        "Most keys of a broadcast relation that the driver reads to make a filter."
      )
    )

  val SEPARATE: ConfigEntry[Boolean] = expert(
    flag("runtimeFilter.separateGroups", default = true)(
      "Whether an aggregate that a join reads in its own stage may get a stage of its own, by one more shuffle of its " +
        "groups, if a filter of their keys is expected to save more than the shuffle costs."
    )
  )

  val WAIT: ConfigEntry[FilterWait] = mode("runtimeFilter.wait", FilterWait.Auto, FilterWait)(
    "Whether a scan waits for the stage that a filter comes from: AUTO waits unless that stage is expected to leave cores " +
      "idle for longer than the filter saves; ALWAYS; NEVER. A scan that does not wait starts at once, and the tasks that " +
      "begin after the filter has arrived test their rows. A scan that waits for that stage anyway, because of its own " +
      "broadcast join, is always filtered. ALWAYS also makes filters that save less than minBenefitMs. With NEVER, " +
      "runtimeFilter.separateGroups has no effect."
  )

  val WAIT_TIME: ConfigEntry[Long] =
    expert(
      time(
        "runtimeFilter.waitTime",
        0L,
        v => v >= 0 && v <= 600000,
        "The time must be between 0 and 10 minutes."
      )(
        "Time in ms that a task waits for late filters before its first row. It applies to scans that do not wait for the " +
          "filter's stage. The task keeps its core meanwhile. The time is for all filters of the task together."
      )
    )

  val MIN_BENEFIT_MS: ConfigEntry[Long] =
    time("runtimeFilter.minBenefitMs", 100L, _ >= 0, "The time must be 0 or more ms.")(
      "Time in ms that a filter must be expected to save for a scan to wait for another stage; about the time that it takes " +
        "to plan and schedule a stage. A twentieth of it suffices for a scan that waits anyway, in the stage of a " +
        "broadcast join."
    )

  val MIN_REJECTION: ConfigEntry[Double] =
    expert(
      fraction(
        "runtimeFilter.minRejection",
        0.1,
        v => v >= 0 && v < 1,
        "The part must be at least 0 and below 1."
      )(
        "Fraction of the rows that a row-level filter must reject. A filter that is expected to reject less is not made. A " +
          "task that reads files and makes no groups stops testing if it sees less in a sample, and samples again later."
      )
    )

  private def bloomBytes(key: String, default: Long)(doc: String): ConfigEntry[Long] =
    bytes(
      key,
      default,
      v => v >= 32 && v <= (64L << 20),
      "The size must be between 32 bytes and 64 MiB."
    )(doc)
}
