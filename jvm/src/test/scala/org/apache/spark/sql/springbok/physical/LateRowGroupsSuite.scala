package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.{FilterConf, SpringbokConf}
import org.apache.spark.sql.springbok.physical.LateFilterPoll.{BeginPoll, FinalPoll, Poll}
import org.apache.spark.sql.springbok.report.SpringbokReport

/** Row groups that tasks leave out because a late filter was there when they began. */
class LateRowGroupsSuite extends SpringbokTest {
  private val rows = 40000L
  private val groupRows = 1000

  /** More cores than the scan has tasks: while these wait for the filter, its build side runs. */
  override protected def master: String = "local[64]"

  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.files.openCostInBytes" -> "0",
    "spark.sql.files.minPartitionNum" -> "2",
    // Each task waits for the filter, as long as it takes.
    FilterConf.WAIT.key -> "NEVER",
    FilterConf.WAIT_TIME.key -> "60000"
  )

  /** In the order of the rows. Early values of the second are null. */
  private val columns = Seq(
    "CAST(id AS INT) AS i",
    s"CASE WHEN id >= ${rows / 2} THEN id END AS n",
    "id * 1000000007 AS l",
    "date_add(DATE'1990-01-01', CAST(id AS INT)) AS d",
    "TIMESTAMP'2001-02-03 04:05:06' + id * INTERVAL 1 HOUR AS t",
    "CAST(id / 100 AS DECIMAL(9, 2)) AS e",
    "concat('key ', lpad(CAST(id AS STRING), 8, '0')) AS s"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val all = (Seq("id AS v", "id % 7 AS w") ++ columns).mkString(", ")
    // Other timestamps have no statistics.
    conf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
      table("fact", s"SELECT $all FROM range($rows)", groupRows = Some(groupRows))
    }
    // Two keys that lie far apart, in the middle of row groups.
    val keys = Seq(rows / 2 + 1500, rows - 2500).mkString(", ")
    table("few", s"SELECT id AS v, ${columns.mkString(", ")}, id IN ($keys) AS chosen FROM range($rows)")
  }

  private def query(on: String, from: String = "fact", more: String = "") =
    s"SELECT /*+ MERGE(m) */ count(*), sum(f.v)$more FROM $from f JOIN few m ON $on WHERE chosen"

  private def late(sql: String): DataFrame = {
    val df = same(sql)
    assert(
      used(df).nonEmpty && used(df).forall(_.kinds.head == "late"),
      record(df).filters.map(_.reason.text)
    )
    df
  }

  private def skipped(df: DataFrame): Long = applied(df).map(_.rowGroupsSkipped).sum

  /** Splits of a few KB begin in the middle of row groups. */
  private val splits =
    Seq("one" -> "128m", "several" -> "70k").map(s => s._1 -> ("spark.sql.files.maxPartitionBytes" -> s._2))

  for ((parts, split) <- splits; key <- Seq("i", "n", "l", "d", "t", "e", "s"))
    test(s"row groups without a key are not read: key $key, file of $parts part(s)") {
      conf(split) {
        val df = late(query(s"f.$key = m.$key"))
        assert(scanRows(df, "v") == 2 * groupRows && skipped(df) == rows / groupRows - 2)
        if (key != "s") {
          val f = SpringbokReport.of(execution(df)).filters.find(_.id.isDefined).get
          assert(f.rowGroups.contains(40L) && f.rowGroupsRemoved.contains(38L), f)
          assert(f.pushed.contains("files") && f.kinds.contains("in"), f)
        }
      }
    }

  test("row by row, without generated code") {
    for (
      settings <- Seq(
        Seq("spark.sql.codegen.wholeStage" -> "false"),
        Seq("spark.sql.parquet.enableVectorizedReader" -> "false"),
        Seq("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN")
      )
    ) conf(settings: _*)(assert(scanRows(late(query("f.i = m.i")), "v") == 2 * groupRows, settings))
  }

  test("keys that are a column plus a constant, also where they might raise an error") {
    for (ansi <- Seq("true", "false"))
      conf("spark.sql.ansi.enabled" -> ansi) {
        assert(scanRows(late(query("f.i + 1 = m.i")), "v") == 2 * groupRows)
      }
  }

  test("many keys: ranges of them") {
    val df = late(query("f.i = m.i").replace("chosen", "m.e < 1 OR m.e BETWEEN 200 AND 200.99"))
    assert(scanRows(df, "v") == 2 * groupRows && used(df).flatMap(_.kinds).contains("ranges"))
  }

  test("files are not opened if none of their row groups is left") {
    val path = folder.resolve("files").toString
    spark
      .range(0, rows, 1, 8)
      .selectExpr("id AS v", "CAST(id AS INT) AS i")
      .write
      .parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("files")
    val f =
      SpringbokReport.of(execution(late(query("f.i = m.i", from = "files")))).filters.find(_.id.isDefined)
    assert(f.exists(x => x.files.contains(8L) && x.filesRead.contains(2L)), f)
  }

  test("nothing is left out where it is not expected to pay, or must not be") {
    val open = "spark.sql.files.openCostInBytes" -> "4m"
    val off = "spark.sql.parquet.filterPushdown" -> "false"
    for (setting <- Seq(open, off))
      conf(setting) {
        val df = late(query("f.i = m.i"))
        assert(skipped(df) == 0 && scanRows(df, "v") == rows, setting)
        assert(notTold(df) == Seq("SCAN_STARTED"))
      }
    // Values without order.
    assert(skipped(late(query("f.v % 40000 = m.v"))) == 0)
  }

  test("what a row knows of its file") {
    val fact = s"parquet.`${folder.resolve("fact")}`"
    val position = s"(SELECT *, _metadata.row_index AS at, _metadata.file_size AS size FROM $fact)"
    val df = late(query("f.i = m.i", position, ", sum(at), max(size)"))
    assert(scanRows(df, "v") == 2 * groupRows)
    val block =
      s"(SELECT *, _metadata.file_block_start AS at, _metadata.file_block_length AS size FROM $fact)"
    for ((_, split) <- splits)
      conf(split)(assert(skipped(late(query("f.i = m.i", block, ", sum(at), max(size)"))) == 0))
    // No filter passes a function that is not deterministic.
    val function = s"(SELECT *, input_file_block_start() AS at, input_file_block_length() AS size FROM $fact)"
    assert(applied(same(query("f.i = m.i", function, ", sum(at), max(size)"))).isEmpty)
  }

  // ---- parts of a file

  private def scan(of: String): FileSourceScanExec = conf(SpringbokConf.ENABLED.key -> "false") {
    val df = spark.sql(s"SELECT * FROM $of")
    df.collect(): Unit
    collect(executed(df)) { case s: FileSourceScanExec => s }.head
  }

  private def files(s: FileSourceScanExec): Seq[PartitionedFile] =
    s.inputRDDs().head.partitions.toSeq.collect { case p: FilePartition => p.files }.flatten

  private def whole(s: FileSourceScanExec): PartitionedFile = {
    val f = files(s).head
    f.copy(start = 0, length = f.fileSize)
  }

  private def test(s: FileSourceScanExec)(predicate: Attribute => Expression): RowGroupTest =
    RowGroupTest.of(s, predicate(s.output.find(_.name == "i").get), spark.sessionState.conf).get

  private def starts(f: PartitionedFile): Seq[Long] = {
    val footer = ParquetFooter.read(f.toPath, spark.sessionState.newHadoopConf())
    footer.groups(f.start, f.start + f.length).map(_.getStartingPos)
  }

  test("the parts of a file have exactly the row groups that are left, wherever splits begin") {
    val s = scan("fact")
    val file = whole(s)
    val groups = starts(file)
    assert(groups.size == rows / groupRows)
    val chosen =
      Seq(Nil, Seq(0), Seq(39), Seq(0, 39), Seq(7, 8, 20), (0 until 40).toSeq, (1 until 40 by 2).toSeq)
    for (open <- Seq("0", "30k"); kept <- chosen; step <- Seq(file.fileSize, 100000L, 7777L))
      conf("spark.sql.files.openCostInBytes" -> open) {
        // One more key, which no row group has.
        val keys = Literal(-1) +: kept.map(g => Literal(g * groupRows + 500))
        val t = test(s)(a => keys.map(EqualTo(a, _): Expression).reduce(Or(_, _)))
        val parts = (0L until file.fileSize by step).flatMap { at =>
          t.parts(file.copy(start = at, length = math.min(step, file.fileSize - at))).files
        }
        val read = parts.flatMap(starts)
        val wanted = kept.map(groups(_))
        assert(read == read.sorted.distinct && wanted.forall(read.contains(_)), (open, kept, step))
        if (open == "0") assert(read == wanted, (kept, step))
      }
  }

  test("row groups without statistics are read, and files that are none") {
    val path = folder.resolve("blind").toString
    val written = spark.range(0, 100, 1, 1).selectExpr("CAST(id AS INT) AS i", "concat('k', id) AS s")
    written.write.option("parquet.column.statistics.enabled", "false").parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("blind")
    val s = scan("blind")
    val file = whole(s)
    // Before Parquet 1.15 there always are some.
    val footer = ParquetFooter.read(file.toPath, spark.sessionState.newHadoopConf())
    val none = footer.groups(0, file.fileSize).head.getColumns.get(0).getStatistics.isEmpty
    val t = test(s)(GreaterThan(_, Literal(1000)))
    assert(t.parts(file).files == (if (none) Seq(file) else Nil))
    val short = file.copy(filePath = files(scan("fact")).head.filePath, length = 10, fileSize = 10)
    assert(t.parts(short).files == Seq(short))
    val gone = PartitionedFile(InternalRow.empty, short.filePath, 0, 100)
    assert(test(s)(IsNotNull(_)).parts(gone.copy(filePath = missing(short))).files.size == 1)
    assert(test(s)(In(_, Seq(Literal(5)))).parts(file).skipped == 0)
  }

  private def missing(f: PartitionedFile) =
    org.apache.spark.paths.SparkPath.fromPathString(f.toPath.toString + ".gone")

  // ---- all attempts of a task read the same

  test("a task that began without the filter reads all of its files, in each of its attempts") {
    val late = new LateFilter(-1, 0)
    val there = LateFilter.Arrived(null, Some(test(scan("fact"))(IsNotNull(_))))
    val begun = LateFilter.Arrived(null, None, begun = true)
    assert(late.answer(Poll(-1, 0)) == LateFilter.Open && late.answer(BeginPoll(-1, 0)) == LateFilter.Begun)
    assert(late.answer(Poll(-1, 0)) == LateFilter.Open && late.answer(BeginPoll(-1, 0)) == LateFilter.Begun)
    assert(late.answer(BeginPoll(-1, 1)) == LateFilter.Begun)
    assert(
      late.answer(FinalPoll(-1, 1)) == LateFilter.Never && late.answer(BeginPoll(-1, 1)) == LateFilter.Never
    )
    assert(late.answer(BeginPoll(-1, 2)) == LateFilter.Begun)
    assert(late.outcome == LateFilter.Outcome(None, tested = 0, untested = 1))
    late.settle(there)
    // It came between the task's beginning and its first row.
    assert(late.answer(FinalPoll(-1, 0)) == begun && late.answer(BeginPoll(-1, 0)) == begun)
    assert(late.answer(BeginPoll(-1, 1)) == LateFilter.Never)
    // The first attempt was lost before its first row.
    assert(late.answer(BeginPoll(-1, 2)) == LateFilter.Begun && late.answer(Poll(-1, 2)) == begun)
    assert(late.answer(BeginPoll(-1, 3)) == there && late.answer(FinalPoll(-1, 3)) == there)
    assert(late.outcome.tested == 3 && late.outcome.untested == 1)
  }

  test("questions and answers as bytes") {
    for (p <- Seq(Poll(3, 4), BeginPoll(5, 6), FinalPoll(7, 8)))
      assert(LateFilterPoll.decode(LateFilterPoll.encode(p)) == p)
    for (s <- Seq(LateFilter.Open, LateFilter.Never, LateFilter.Begun))
      assert(LateFilterReply.decode(LateFilterReply.encode(s)) == s)
    val t = test(scan("fact"))(GreaterThan(_, Literal(rows.toInt)))
    val sent = LateFilter.Arrived(null, Some(t))
    LateFilterReply.decode(LateFilterReply.encode(sent)) match {
      case LateFilter.Arrived(_, Some(got), false) =>
        assert(got.parts(files(scan("fact")).head).files.isEmpty)
      case other => fail(other.toString)
    }
  }
}
