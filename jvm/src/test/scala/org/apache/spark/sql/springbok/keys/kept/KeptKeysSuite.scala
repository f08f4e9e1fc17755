package org.apache.spark.sql.springbok.keys.kept

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
import org.apache.spark.sql.execution.springbok.{KeptKeysExec, RuntimeFilterExec, SummarizeKeysExec}
import org.apache.spark.sql.functions.udf
import org.apache.spark.sql.springbok.Smoke
import org.apache.spark.sql.springbok.catalyst.FileTable
import org.apache.spark.sql.springbok.conf.{FilterConf, HistoryConf}
import org.apache.spark.sql.springbok.keys.{BuildKey, KeyFacts}
import org.apache.spark.sql.springbok.physical.{BuildTable, KeepKeys}
import org.apache.spark.sql.springbok.record.{FilterRecord, FilterTiming, PlanningState}
import org.apache.spark.sql.springbok.stats.history.HistoryTest
import org.apache.spark.sql.types.LongType
import org.scalatest.Assertion

/** Keys of build sides that later queries filter by, without waiting for their own build sides. */
class KeptKeysSuite extends HistoryTest {
  private val rows = 40000L

  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ Map("spark.sql.autoBroadcastJoinThreshold" -> "-1", FilterConf.WAIT.key -> "ALWAYS")

  private def store: KeptKeysStore = KeptKeysStore.of(spark.sparkContext)

  override protected def beforeEach(): Unit = {
    super.beforeEach()
    store.clear()
    dim("dim", dimension())
  }

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "fact",
      // Too many keys for a list: they are not kept.
      """SELECT id AS v, id % 2000 AS k, CAST(id % 2000 AS INT) AS i, concat('k', id % 2000) AS name, id % 7 AS j,
        |CAST(id % 2000 AS DOUBLE) AS d FROM range(40000)""".stripMargin
    )
    table("parts", "SELECT id AS v, CAST(id % 20 AS INT) AS p FROM range(20000)", partitionBy = Seq("p"))
    spark.udf.register("own", udf((x: Long) => x)): Unit
  }

  private def dimension(from: Int = 0): String =
    s"""SELECT id AS k, CAST(id AS INT) AS i, concat('k', id) AS name, id % 7 AS j, CAST(id AS DOUBLE) AS d,
       |id % 50 AS g FROM range($from, ${from + 1000})""".stripMargin

  /** Writes a table whose files were last changed an hour ago. */
  private def write(name: String, sql: String, mode: String = "overwrite", old: Boolean = true): Path = {
    val path = folder.resolve(name)
    spark
      .sql(sql)
      .coalesce(1)
      .write
      .option("compression", "none")
      .option("parquet.enable.dictionary", "false")
      .mode(mode)
      .parquet(path.toString)
    if (old) age(path)
    path
  }

  private def files(path: Path): Seq[Path] = Files.list(path).iterator.asScala.filter(f => part(f)).toList

  private def part(f: Path): Boolean = f.getFileName.toString.startsWith("part-")

  private def age(path: Path): Unit =
    files(path).foreach(f => Files.setLastModifiedTime(f, FileTime.fromMillis(hourAgo)): Unit)

  private val hourAgo = System.currentTimeMillis() - 3600000L

  private def view(name: String): Unit =
    spark.read.parquet(folder.resolve(name).toString).createOrReplaceTempView(name)

  private def dim(name: String, sql: String): Unit = {
    write(name, sql)
    view(name)
  }

  private val merge =
    "SELECT /*+ MERGE(d) */ count(*), sum(f.v) FROM fact f JOIN dim d ON f.k = d.k WHERE d.g = 7"

  private def kept(df: DataFrame): Seq[FilterRecord] = used(df).filter(_.kinds.head == "kept")

  private def initial(df: DataFrame): SparkPlan =
    execution(df).executedPlan.collectFirst { case a: AdaptiveSparkPlanExec => a.initialPlan }.get

  /** Runs a query that teaches, and again. */
  private def twice(sql: String): DataFrame = {
    assert(kept(learned(sql)).isEmpty, sql)
    learned(sql)
  }

  private def isKept(sql: String): Assertion = {
    val df = twice(sql)
    assert(kept(df).nonEmpty, sql + record(df).filters.map(f => f.kinds -> f.reason.text) + store.size)
  }

  private def isNotKept(sql: String): Assertion = {
    val df = twice(sql)
    assert(kept(df).isEmpty && store.size == 0, sql)
  }

  test("the second run filters by the keys of the first, and waits for no stage", Smoke) {
    val first = learned(merge)
    assert(used(first).nonEmpty && kept(first).isEmpty && store.size == 1)
    val planned = initial(spark.sql(merge))
    assert(planned.collect { case f: RuntimeFilterExec => f.waits } == Seq(false))
    assert(!planned.exists(_.isInstanceOf[SummarizeKeysExec]))
    val second = learned(merge)
    assert(kept(second).size == 1 && passed(second) == rows / 100 && passed(first) == passed(second))
    assert(kept(second).head.state.placement.map(_.timing).contains(FilterTiming.Known))
    assert(kept(second).head.kinds.tail == used(first).head.kinds)
    val Some(f) = report(second).filters.find(_.id.isDefined): @unchecked
    assert(f.timing.contains("known") && f.keptMs.isDefined && f.buildKeys.contains(20L), f)
    assert(f.waitedMs.isEmpty && f.fromFragment.isEmpty && f.reason.text.contains("kept"), f)
    val explained = report(spark.sql(merge)).filters.find(_.id.isDefined).get
    assert(explained.reason.code == "KEYS_KNOWN")
  }

  test("partitions of other keys are not read") {
    val sql =
      "SELECT /*+ MERGE(d), RUNTIME_FILTER_TARGET(f) */ count(*), sum(v) FROM parts f JOIN dim d ON f.p = d.i WHERE d.k < 4"
    // Spark's own pruning removes the same partitions.
    val df = conf("spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false")(twice(sql))
    assert(
      kept(df).flatMap(_.effect.pushed) == Seq(Right("partitions")),
      record(df).filters.map(f => f.target -> f.reason.text)
    )
    val read = collectWithSubqueries(executed(df)) {
      case s: FileSourceScanExec if s.output.exists(_.name == "p") => s.metrics("numPartitions").value
    }
    assert(read == Seq(4L))
  }

  for (key <- Seq("k", "i", "name"); strategy <- Seq("MERGE", "SHUFFLE_HASH"))
    test(s"key $key, $strategy") {
      isKept(
        s"SELECT /*+ $strategy(d) */ count(*), sum(f.v) FROM fact f JOIN dim d ON f.$key = d.$key WHERE d.g = 7"
      )
    }

  test("the keys of a broadcast, for a scan in another stage") {
    val sql = """SELECT /*+ BROADCAST(d) */ f.k, n FROM (SELECT k, count(*) AS n FROM fact GROUP BY k) f
                |JOIN dim d ON f.k = d.k WHERE d.g = 7""".stripMargin
    isKept(sql)
    // In the stage of the join, the keys of the join itself are there.
    store.clear()
    val local = "SELECT /*+ BROADCAST(d) */ f.k, f.v FROM fact f JOIN dim d ON f.k = d.k WHERE d.g = 7"
    assert(kept(twice(local)).isEmpty)
  }

  test("a broadcast of several keys has no rows with nulls, so its keys are not kept") {
    val sql = """SELECT /*+ BROADCAST(d) */ f.k, n FROM (SELECT k, j, count(*) AS n FROM fact GROUP BY k, j) f
                |JOIN dim d ON f.k = d.k AND f.j = d.j WHERE d.g = 7""".stripMargin
    isNotKept(sql)
  }

  test("a filter that came late is there from the start in the next run") {
    conf(FilterConf.WAIT.key -> "NEVER", FilterConf.WAIT_TIME.key -> "60000") {
      val first = learned(merge)
      assert(used(first).map(_.kinds) == Seq(Seq("late", "bitmap")))
      assert(kept(learned(merge)).size == 1)
    }
  }

  test("join types: only rows without a match are removed") {
    for (
      join <- Seq("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN");
      (l, r) <- Seq("fact" -> "small", "small" -> "fact")
    ) {
      val small = "(SELECT * FROM dim WHERE g = 7) small"
      val (left, right) = if (l == "small") (small, "fact") else ("fact", small)
      val sql =
        s"SELECT /*+ MERGE(small) */ count(*), sum($l.k), count($l.name) FROM $left $join $right ON $l.k = $r.k"
      learned(sql)
      learned(sql)
    }
  }

  test("a build side that another join filters is not kept, and the other one is") {
    dim("far", "SELECT id AS j, id AS h FROM range(7)")
    val both =
      """SELECT /*+ MERGE(d, e) */ count(*), sum(f.v) FROM fact f JOIN dim d ON f.k = d.k JOIN far e ON d.j = e.j
                 |WHERE d.g < 40 AND e.h = 3""".stripMargin
    val df = twice(both)
    assert(kept(df).flatMap(_.targetTable) == Seq("dim") && store.size == 1)
    // Without the other join, more rows match.
    val alone = "SELECT /*+ MERGE(d) */ count(*), sum(f.v) FROM fact f JOIN dim d ON f.k = d.k WHERE d.g < 40"
    assert(kept(learned(alone)).isEmpty)
  }

  // ---- what is not the same

  private def otherwise(sql: String): Assertion = {
    learned(merge): Unit
    val df = learned(sql)
    assert(used(df).nonEmpty && kept(df).isEmpty, sql)
  }

  test("other conditions, keys and tables") {
    dim("dim2", dimension(from = 3))
    otherwise(merge.replace("g = 7", "g = 8"))
    otherwise(merge.replace("g = 7", "g <= 7"))
    otherwise(merge.replace("g = 7", "g = 7 AND d.j < 5"))
    otherwise(merge.replace("f.k = d.k", "f.k = d.k + 1"))
    otherwise(merge.replace("dim d", "dim2 d"))
  }

  test("expressions that Spark's canonical form takes for equal are told apart") {
    val (x, y) = ("(d.d + 0.1D) + 1e16D > 1e16D", "d.d + (0.1D + 1e16D) > 1e16D")
    learned(merge.replace("g = 7", s"g = 7 AND $x")): Unit
    assert(kept(learned(merge.replace("g = 7", s"g = 7 AND $y"))).isEmpty)
  }

  test("other settings of the session") {
    learned(merge): Unit
    // Springbok's own settings change no keys.
    conf(FilterConf.BLOOM_FPP.key -> "0.01")(assert(kept(learned(merge)).nonEmpty))
    for (s <- Seq("spark.sql.ansi.enabled" -> "false", "spark.sql.session.timeZone" -> "Asia/Tokyo"))
      conf(s) {
        val df = learned(merge)
        assert(used(df).nonEmpty && kept(df).isEmpty, s)
      }
  }

  for (
    (what, sql) <- Seq(
      // Spark knows that rand() >= 0.
      "random values" -> merge.replace("dim d", "(SELECT * FROM dim WHERE rand() + 1 > 0) d"),
      "a function of a user" -> merge.replace("d.g = 7", "own(d.g) = 7"),
      "a subquery" -> merge.replace("g = 7", "g = (SELECT max(g) - 42 FROM dim)"),
      "a limit" -> merge.replace("dim d", "(SELECT * FROM dim LIMIT 900) d"),
      "an aggregate" -> merge.replace("dim d", "(SELECT k, max(g) AS g FROM dim GROUP BY k) d")
    )
  ) test(s"not kept: $what")(isNotKept(sql))

  test("not kept: more keys than a list may have") {
    conf(FilterConf.IN_LIMIT.key -> "10")(isNotKept(merge))
  }

  test("not kept: keys of files that may be left out") {
    for (s <- Seq("ignoreCorruptFiles", "ignoreMissingFiles"))
      conf(s"spark.sql.files.$s" -> "true")(isNotKept(merge))
    val lenient = spark.read.option("ignoreCorruptFiles", "true").parquet(folder.resolve("dim").toString)
    lenient.createOrReplaceTempView("dim")
    isNotKept(merge)
  }

  test("functions of doubles that Spark normalizes are not known") {
    isNotKept(merge.replace("f.k = d.k", "f.d = d.d"))
  }

  // ---- files that change

  test("files that were changed a moment ago are not kept") {
    write("dim", dimension(), old = false): Unit
    view("dim")
    isNotKept(merge)
  }

  /** Keeps keys, changes the table, and runs the query as it was planned before, as the view lists it, and with a new listing. */
  private def changed(change: Path => Unit, refresh: Boolean = true): Assertion = {
    assert(learned(merge) != null && store.size == 1)
    val before = spark.sql(merge)
    assert(initial(before).exists { case f: RuntimeFilterExec => !f.waits; case _ => false })
    change(folder.resolve("dim"))
    if (refresh) view("dim")
    val df = learned(merge)
    assert(kept(df).isEmpty, "the files are others")
  }

  test("an appended file") {
    changed(_ => write("dim", dimension(from = 7), "append"): Unit)
  }

  test("an overwritten table") {
    changed(_ => write("dim", dimension(from = 7)): Unit)
  }

  test("a file that was removed") {
    write("dim", dimension(from = 1000), "append"): Unit
    view("dim")
    changed(path => Files.delete(files(path).head))
  }

  test("a file that was added without a new listing is not read, so the keys are those of the query") {
    learned(merge): Unit
    write("dim", dimension(from = 7), "append", old = false): Unit
    // Both read the files that the view has listed.
    assert(kept(learned(merge)).nonEmpty)
  }

  /** Other rows in the same file, of the same length. */
  private def replace(path: Path): Unit = {
    val other = files(write("other", dimension(from = 1000)))
    val Seq(file) = files(path): @unchecked
    val bytes = Files.readAllBytes(other.head)
    assert(Files.size(file) == bytes.length)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    Files.write(file, bytes): Unit
  }

  /** Keys of four digits before and after, so that texts have one length. */
  private def fourDigits(): Unit = dim("dim", dimension(from = 2000).replace("id AS k", "id - 1990 AS k"))

  test("a file that was replaced by one of the same length, with the old listing and a new one", Smoke) {
    for (refresh <- Seq(false, true)) {
      store.clear()
      fourDigits()
      changed(replace, refresh)
    }
  }

  test("a file whose time of change was set back after it was replaced") {
    for (refresh <- Seq(false, true)) {
      store.clear()
      fourDigits()
      changed(
        { path =>
          replace(path)
          age(path)
        },
        refresh
      )
    }
  }

  test("a query that was planned before a file was replaced") {
    fourDigits()
    learned(merge): Unit
    val df = spark.sql(merge)
    assert(initial(df).exists { case f: RuntimeFilterExec => !f.waits; case _ => false })
    replace(folder.resolve("dim"))
    val expected = off(sorted(spark.sql(merge).collect()))
    assert(sorted(df.collect()) == expected && kept(df).isEmpty)
    assert(declined(df) == Seq("KEYS_CHANGED") && store.size == 0)
  }

  test("a query that was planned before a setting was changed") {
    learned(merge): Unit
    val df = spark.sql(merge)
    assert(initial(df).exists { case f: RuntimeFilterExec => !f.waits; case _ => false })
    conf("spark.sql.session.timeZone" -> "Asia/Tokyo")(df.collect()): Unit
    assert(kept(df).isEmpty && declined(df) == Seq("KEYS_CHANGED"))
  }

  test("another schema of the same files") {
    learned(merge): Unit
    spark.read
      .schema("k BIGINT, g BIGINT, more STRING")
      .parquet(folder.resolve("dim").toString)
      .createOrReplaceTempView("dim")
    assert(kept(learned(merge)).isEmpty)
  }

  test("tables of the catalog: inserts, another session's inserts, REFRESH TABLE") {
    val path = write("stored", dimension())
    spark.sql(s"CREATE TABLE stored USING parquet LOCATION '$path'"): Unit
    val sql = merge.replace("dim d", "stored d")
    isKept(sql)
    spark.sql("INSERT INTO stored SELECT * FROM dim WHERE k < 10"): Unit
    assert(kept(learned(sql)).isEmpty)
    age(path)
    spark.sql("REFRESH TABLE stored"): Unit
    isKept(sql)
    spark
      .newSession()
      .sql("INSERT INTO stored SELECT id * 50 + 7, 1, 'k1', 1, 1D, 7 FROM range(0, 10, 1, 1)"): Unit
    // This session still reads the files that it knows.
    learned(sql): Unit
    spark.sql("REFRESH TABLE stored"): Unit
    assert(kept(learned(sql)).isEmpty)
    spark.sql("INSERT OVERWRITE stored SELECT * FROM dim WHERE k < 500"): Unit
    assert(kept(learned(sql)).isEmpty)
    spark.sql("DROP TABLE stored"): Unit
  }

  /** The view's own listing. */
  private def refresh(): Unit = execution(spark.table("dim")).optimizedPlan.foreach {
    case FileTable(_, fs) => fs.location.refresh()
    case _ =>
  }

  test("a listing that is refreshed between planning and running") {
    // A query that collects keys.
    val first = spark.sql(merge)
    initial(first): Unit
    write("dim", dimension(from = 2000).replace("id AS k", "id - 1993 AS k"), "append"): Unit
    refresh()
    first.collect(): Unit
    settle()
    assert(used(first).nonEmpty && store.size == 0)
    // A query that uses them.
    learned(merge): Unit
    val second = spark.sql(merge)
    assert(initial(second).exists { case f: RuntimeFilterExec => !f.waits; case _ => false })
    write("dim", dimension(from = 3000).replace("id AS k", "id - 2994 AS k"), "append"): Unit
    refresh()
    val expected = off(sorted(spark.sql(merge).collect()))
    assert(sorted(second.collect()) == expected && declined(second) == Seq("KEYS_CHANGED"))
  }

  // A session that has the history on for one query alone once kept no keys.
  test("the settings at planning decide whether keys are kept") {
    val table = built(initial(spark.sql(merge)))
    val state = new PlanningState
    state.collected(
      CollectedKeys(table.source, table.listing, table.listing.files.get, new KeyFacts(LongType, 10, 0))
    )
    conf(HistoryConf.ENABLED.key -> "false")(KeepKeys(spark, state))
    assert(store.get(table.source).nonEmpty)
  }

  test("a listing that is refreshed before the keys are kept") {
    val table = built(initial(spark.sql(merge)))
    val state = new PlanningState
    val files = table.listing.files.get
    state.collected(CollectedKeys(table.source, table.listing, files, new KeyFacts(LongType, 10, 0)))
    write("dim", dimension(from = 7), "append"): Unit
    refresh()
    assert(table.listing.files.exists(_.size == 2))
    KeepKeys(spark, state)
    assert(store.get(table.source).exists(k => k.files.size == 1 && !k.listedBy(table.listing)))
  }

  /** The build side of the join. */
  private def built(plan: SparkPlan): BuildTable = {
    val join = plan.collectFirst { case j: SortMergeJoinExec => j }.get
    val Seq(exchange) = join.right.collect { case e: ShuffleExchangeExec => e }: @unchecked
    BuildTable.of(exchange, BuildKey.of(join.rightKeys.head, exchange.output), spark.sessionState.conf).get
  }

  // ---- what it takes

  test("what was not used for the longest time is forgotten first") {
    val queries = (1 to 3).map(g => merge.replace("g = 7", s"g = $g"))
    learned(queries.head): Unit
    val one = store.bytes
    assert(store.size == 1 && one > 0)
    conf(HistoryConf.KEYS_MAX_BYTES.key -> (one * 5 / 2).toString) {
      learned(queries(1)): Unit
      assert(store.size == 2 && kept(learned(queries.head)).nonEmpty)
      learned(queries(2)): Unit
      assert(store.size == 2 && kept(learned(queries.head)).nonEmpty && kept(learned(queries(1))).isEmpty)
    }
    conf(HistoryConf.KEYS_MAX_BYTES.key -> "0") {
      learned(merge): Unit
      assert(kept(learned(merge)).isEmpty)
    }
  }

  test("looking keys up takes little") {
    learned(merge): Unit
    def ms(body: => Any): Double = {
      val start = System.nanoTime()
      body: Unit
      (System.nanoTime() - start) / 1e6
    }
    val conf = spark.sessionState.conf
    val planned = initial(spark.sql(merge))
    val keys = planned.collectFirst { case RuntimeFilterExec(_, _, _, k: KeptKeysExec) => k }.get
    val found =
      (1 to 300).map(_ => ms(store.get(built(planned).source).get.listedBy(keys.table.listing)))
    val checked = (1 to 300).map(_ => ms(assert(keys.keys(conf).isDefined)))
    // Nothing is asserted of times.
    info(f"found in ${found.sorted.apply(150)}%.3f ms, files compared in ${checked.sorted.apply(150)}%.3f ms")
  }

  test("nothing is kept or used without the settings") {
    for (s <- Seq(HistoryConf.KEYS.key, HistoryConf.ENABLED.key)) {
      conf(s -> "false")(isNotKept(merge))
      learned(merge): Unit
      assert(store.size == 1)
      conf(s -> "false")(assert(kept(learned(merge)).isEmpty))
      store.clear()
    }
  }
}
