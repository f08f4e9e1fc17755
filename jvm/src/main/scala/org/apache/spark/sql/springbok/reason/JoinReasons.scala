package org.apache.spark.sql.springbok.reason

import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.{FilterConf, GuardConf, JoinConf, PlanningConf}

/** Why a join is executed as it is. */
private[springbok] trait JoinReasons { this: ReasonRegistry =>
  private val strategy = new Topic("Joins: why this strategy")

  private val lowest = strategy.of4[String, Double, String, Double](
    "LOWEST_COST",
    "{strategy} costs {cost:size}, {next} {next_cost:size}",
    "The cheapest strategy that is allowed, and the next one. If the choice looks wrong, compare the estimated rows of the alternatives with the observed rows."
  )
  private val only = strategy.of2[String, Double](
    "ONLY_ONE_POSSIBLE",
    "{strategy} costs {cost:size}, the only one possible",
    "Every other strategy is ruled out; the alternatives say why."
  )

  /** The name and the cost of the cheapest strategy and of the next one. */
  def cheapest(best: (String, Double), next: Option[(String, Double)]): Reason =
    next match {
      case Some(n) => lowest(best._1, best._2, n._1, n._2)
      case None => only(best._1, best._2)
    }

  val tie: Double => Reason = strategy.of1(
    "TIE",
    "two strategies cost {cost:size}",
    "The default mode decides.",
    by(JoinConf.DEFAULT_MODE)
  )
  val statsUnknown: Seq[String] => Reason = strategy.of1(
    "STATS_UNKNOWN",
    "the rows of the {sides} side are unknown",
    "Collect statistics (`ANALYZE TABLE ... COMPUTE STATISTICS`) or store the table as Parquet; until then the default mode decides.",
    by(JoinConf.DEFAULT_MODE)
  )

  val hint: String => Reason = strategy.of1(
    "USER_HINT",
    "the query's own hint {hint} decides",
    "A hint that can be followed comes before any cost. Remove it to let the costs decide."
  )
  val fewTasks: Reason = strategy.fixed(
    "READ_BY_FEW_TASKS",
    "its result is coalesced into fewer partitions than there are cores, and is kept as Spark plans it",
    "`coalesce` runs everything below it, up to the next shuffle, in this small number of tasks. `repartition` does not."
  )
  val openFile: Reason = strategy.fixed(
    "OPEN_FILE",
    "the query calls `input_file_name()` or a similar function above this join, and the result depends on the strategy",
    "Put `input_file_name()` into a subquery below the join, and the costs decide."
  )
  val conditionOfExtension: Reason = strategy.fixed(
    "CONDITION_OF_EXTENSION",
    "its condition has a function of another extension and no equality",
    "The extension may have a join of its own for this function. Sedona, for example, has spatial joins."
  )
  val raisesEarlier: String => Reason = strategy.of1(
    "RAISES_EARLIER",
    "{expression} might fail on rows that Spark's own broadcast join removes before it is computed",
    "The costs decide if the expression cannot raise an error, as with `try_cast`."
  )
  val feedsPruning: Reason = strategy.fixed(
    "FEEDS_PARTITION_PRUNING",
    "it makes or reads a side that prunes partitions",
    "Spark's dynamic partition pruning reads a copy of this side, which Spark plans."
  )
  val nullAwareAnti: Reason = strategy.fixed(
    "NULL_AWARE_ANTI_JOIN",
    "every task must see all keys of NOT IN's right side, so that side is broadcast",
    "`NOT EXISTS`, or a right side whose key cannot be null, can be executed in other ways."
  )
  val allRuledOut: Reason = strategy.fixed(
    "ALL_RULED_OUT",
    "every strategy is ruled out, so Spark decides",
    "The alternatives say why. Spark may have to hold a side in memory that does not fit."
  )
  val joinDisabled: Reason = strategy.fixed(
    "JOIN_CHOICE_OFF",
    "the choice of join strategies is switched off",
    "Spark plans all joins.",
    by(JoinConf.ENABLED)
  )

  val littleData: (Double, Double) => Reason = strategy.of2(
    "LITTLE_DATA",
    "the query reads {bytes:size}, too little for the {rules_ms} ms that its planning would take",
    "Spark plans the whole query. Set this to 0 to have every query planned.",
    by(PlanningConf.BUDGET)
  )

  val hintedOff: Reason = strategy.fixed(
    "HINTED_OFF",
    "the statement has the hint SPRINGBOK_OFF",
    "Spark plans the whole query."
  )

  val excluded: String => Reason = strategy.of1(
    "EXCLUDED",
    "the fingerprint {fingerprint} is on the list of queries that are left to Spark",
    "Spark plans the whole query. `guard.excludeFile` may have the list as well.",
    by(GuardConf.EXCLUDE)
  )

  val guarded: String => Reason = strategy.of1(
    "GUARDED",
    "runs of the query {fingerprint} that Springbok planned were slower than its control group",
    "Spark plans the whole query until the application ends. Please report it.",
    by(GuardConf.AUTOMATIC)
  )

  val controlGroup: Reason = strategy.fixed(
    "CONTROL_GROUP",
    "the run belongs to the control group",
    "Spark plans a share of all runs, to compare with the others.",
    by(GuardConf.CONTROL)
  )

  val overwritesInput: Reason = strategy.fixed(
    "OVERWRITES_INPUT",
    "the query overwrites files that it reads",
    "Spark plans the whole query. With another plan, files might be deleted before they have been read."
  )

  val oneTask: Double => Reason = strategy.of1(
    "ONE_TASK",
    "the query reads {bytes:size}, which one task joins without shuffles and broadcasts",
    "Starting stages and broadcasts takes longer than the work on so little data.",
    by(PlanningConf.BUDGET)
  )

  /** Not documented: it comes from an internal setting. */
  val forced: Reason =
    new ReasonTemplate("", "FORCED", "taken at random, for a test", None, "").of()

  private val alternative = new Topic("Joins: why not another strategy")

  private val typeOrKeys = alternative.of1[String](
    "JOIN_TYPE_UNSUPPORTED",
    "the join's type or keys do not allow it: {why}",
    "An outer or semi join can build only one of its sides. Keys that can be equal without equal bytes (collated strings) cannot be hashed."
  )
  def joinType(strategy: String, build: BuildSide): Reason =
    typeOrKeys(s"a $strategy join cannot build the ${Reason.side(build)} side")
  def notInner: Reason = typeOrKeys("only the result of an inner join is part of the cartesian product")
  def notSortable: Reason = typeOrKeys("the keys cannot be sorted")

  private val preservedSide = alternative.of1[String](
    "BUILDS_PRESERVED_SIDE",
    "the {build} side keeps its rows without a match, and tracking the matches costs as much as sorting",
    "The hash table of an outer join is built from the other side, or the join is a sort-merge join."
  )
  def tracksMatches(build: BuildSide): Reason = preservedSide(Reason.side(build))

  val shuffleHint: Reason = alternative.fixed(
    "SHUFFLE_HINT",
    "the query's hint SHUFFLE asks for a join without a broadcast",
    "`/*+ SHUFFLE(t) */` lets the costs choose between a shuffled hash join and a sort-merge join. It is Impala's hint of this name."
  )
  val mergePreferred: Reason = alternative.fixed(
    "SORT_MERGE_PREFERRED",
    "the session prefers sort-merge joins",
    "Spark's setting is followed if it is set to true. It is true by default, and then the costs decide.",
    by(SQLConf.PREFER_SORTMERGEJOIN)
  )

  val notEqui: Reason = alternative.fixed(
    "NOT_EQUI_JOIN",
    "the join has no equality between its sides",
    "Only equal keys can be hashed or merged, so every pair of rows is compared."
  )
  private val pairs = alternative.of1[Double](
    "COMPARES_EVERY_PAIR",
    "it would compare {pairs} pairs of rows, which an equality makes unnecessary",
    "It is never the best strategy for a join with an equality."
  )
  def everyPair(left: Option[Double], right: Option[Double]): Reason =
    pairs((for (l <- left; r <- right) yield l * r).getOrElse(Double.NaN))

  val sizeUnknown: Reason = alternative.fixed(
    "SIZE_UNKNOWN",
    "the size of the build side is unknown",
    "A side of unknown size is never built in memory. Collect statistics of its tables."
  )
  val tooBig: (Double, Double) => Reason = alternative.of2(
    "BUILD_SIDE_TOO_BIG",
    "the build side may take {bytes:size}, the limit is {limit:size}",
    "The setting is the smallest of the limits. It counts as 0 if it is not set and `spark.sql.autoBroadcastJoinThreshold` is -1.",
    by(JoinConf.BROADCAST_BYTES_LIMIT)
  )
  val tooBigForHeap: (Double, Double) => Reason = alternative.of2(
    "BUILD_SIDE_TOO_BIG_FOR_HEAP",
    "the build side may take {bytes:size}, the heaps of driver and executors allow {limit:size}",
    "A relation takes about twice the bytes of its rows, and may take this fraction of the smaller heap. Give the driver and the executors more memory.",
    by(JoinConf.BROADCAST_MEMORY_FRACTION)
  )
  val tooBigForSpark: (Double, Double) => Reason = alternative.of2(
    "BUILD_SIDE_TOO_BIG_FOR_SPARK",
    "the build side may take {bytes:size}, Spark allows {limit:size}",
    "The limit is the smaller of `spark.driver.maxResultSize` and `spark.sql.maxBroadcastTableSize`."
  )
  val tooManyRows: (Double, Double) => Reason = alternative.of2(
    "BUILD_SIDE_TOO_MANY_ROWS",
    "the build side may have {rows} rows, Spark broadcasts at most {limit}",
    "Spark fails a query that broadcasts more."
  )

  /** The bytes of the table, of the other tables in the stage, and of a task's share. */
  val hashTableTooBig: (Double, Double, Double) => Reason = alternative.of3(
    "HASH_TABLE_TOO_BIG",
    "one partition's hash table may take {bytes:size} beside {held:size} of other joins in the stage, a task may use {limit:size}",
    "A task keeps the hash tables of all joins of its stage until it ends. More shuffle partitions make each table smaller. More memory per core makes the share larger.",
    by(JoinConf.SHUFFLED_HASH_MEMORY_FRACTION)
  )
  val mayBeTooBig: (Double, Double) => Reason = alternative.of2(
    "BUILD_SIDE_MAY_BE_TOO_BIG",
    "the build side takes {bytes:size} if its values are spread unevenly, the driver has room for {limit:size}",
    "Column ranges and NDVs give the expected rows of a predicate, but no upper bound. Sort the files by the column, or give the driver more memory."
  )
  val lengthUnknown: Reason = alternative.fixed(
    "ROWS_MAY_BE_LONG",
    "nothing bounds how long the rows of the build side are",
    "They have strings or nested values that are computed, that a join repeats, or whose lengths the source does not tell. " +
      "Such a side is broadcast if Spark's own threshold allows it, or after a shuffle has counted its bytes. " +
      "Files of Parquet and ORC tell the lengths in their footers and dictionaries, other tables if their columns are analyzed.",
    by(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD)
  )
  val noRoom: (Double, Double) => Reason = alternative.of2(
    "BROADCASTS_TAKE_THE_ROOM",
    "the other broadcasts of running queries take {bytes:size}, all together may take {limit:size}",
    "Spark allocates at least one page for each relation: 64 MB in a heap of 2 GB or more. Give the driver and the executors more memory. A BROADCAST hint is followed anyway."
  )
  val timeOut: Reason = alternative.fixed(
    "BROADCAST_MAY_TIME_OUT",
    "without adaptive execution Spark cancels a broadcast after `spark.sql.broadcastTimeout`, and this build side may take longer",
    "It reads much data, or has user code, a generator or a join without equalities. Adaptive execution has no such limit."
  )

  private val noted = new Topic("Joins: what the costs depend on")

  val broadcastShared: Int => Reason = noted.of1[Int](
    "BROADCAST_SHARED",
    "its broadcast can serve {joins} joins, and the cost is divided among them",
    "Spark makes one broadcast for all joins that read the same rows by the same keys."
  )

  val filteredAbove: (Double, String) => Reason = noted.of2[Double, String](
    "FILTERED_BY_JOINS_ABOVE",
    "runtime filters of joins above are counted as leaving {retained:percent} of the {side} side",
    "The costs count the rows that are left, memory limits count all. At least a tenth is counted, because the estimate may be too low.",
    by(FilterConf.MODE)
  )

  val groupsSeparated: (Double, Double) => Reason = noted.of2[Double, Double](
    "GROUPS_SEPARATED",
    "groups are shuffled once more, for about {cost_ms} ms: a filter of their keys is expected to save {benefit_ms} ms",
    "Groups that a join computes in its own stage are known too late to filter its other side. In a stage of their own they are known first."
  )

  private val ignored = new Topic("Joins: what of the query or its tables was ignored")

  val hintIgnored: (String, String) => Reason = ignored.of2(
    "HINT_IGNORED",
    "the query's hint {hint} is not followed: {why}",
    "Remove the hint, or hint the other side. Of several hints, Spark follows BROADCAST before MERGE before SHUFFLE_HASH before SHUFFLE_REPLICATE_NL."
  )

  val statsIgnored: (String, String) => Reason = ignored.of2(
    "STATS_IGNORED",
    "{what} ignored: {why}",
    "Run `ANALYZE TABLE ... COMPUTE STATISTICS` again, or repair the files."
  )
}
