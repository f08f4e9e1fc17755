package org.apache.spark.sql.springbok.rules.runtimefilters.merge

import java.lang.reflect.{InvocationHandler, Proxy}
import java.nio.file.Path

import scala.collection.mutable
import scala.util.Try

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{FileSourceScanExec, QueryExecution}
import org.apache.spark.sql.springbok.{Slow, SpringbokExtensions}
import org.apache.spark.sql.springbok.conf.MergeConf

/** MERGE into tables of Delta. */
class DeltaMergeSuite extends MergeTest {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ Map(
    "spark.sql.extensions" -> s"io.delta.sql.DeltaSparkSessionExtension,${classOf[SpringbokExtensions].getName}",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions" -> "2"
  )

  private val made = mutable.Map.empty[String, Path]

  /** Copied from the first one that is made in the same way. */
  override protected def target(name: String, more: String): Unit = {
    val (location, first) = (folder.resolve("delta").resolve(name), made.getOrElseUpdate(more, make(more)))
    FileUtils.copyDirectory(first.toFile, location.toFile)
    spark.sql(s"CREATE TABLE $name USING delta LOCATION '$location'"): Unit
  }

  private def make(more: String): Path = {
    val (name, location) = (s"first${made.size}", folder.resolve("delta").resolve(s"first${made.size}"))
    spark.sql(s"CREATE TABLE $name USING delta $more LOCATION '$location' AS SELECT $columns FROM range(0)")
    val rows = spark.sql(s"SELECT $columns FROM range(0, 10000, 1, 10)")
    rows.write.format("delta").mode("append").saveAsTable(name)
    location
  }

  override protected def metrics(name: String): Map[String, String] =
    spark
      .sql(s"DESCRIBE HISTORY $name LIMIT 1")
      .select("operationMetrics")
      .head()
      .getMap[String, String](0)
      .toMap
      .filter { case (k, _) =>
        k.startsWith("numTargetRows") || k == "numSourceRows" || k == "numTargetFilesRemoved"
      }

  override protected def filesRead(qe: QueryExecution): Long = collectWithSubqueries(qe.executedPlan) {
    case s: FileSourceScanExec if s.relation.location.getClass.getName.contains("Tahoe") =>
      s.metrics("numFiles").value
  }.sum

  private val vectors = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"

  private def condition(name: String): String =
    spark
      .sql(s"DESCRIBE HISTORY $name LIMIT 1")
      .selectExpr("operationParameters['predicate']")
      .head()
      .getString(0)

  for (more <- Seq(vectors, "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"))
    test(s"rows are updated, deleted and inserted: $more", Slow) {
      val m = merged(more)(of("both", clauses = s"WHEN MATCHED AND t.i % 5 = 0 THEN DELETE $upsert"))
      assert(m.code == "CONDITION_ADDED" && m.metrics("numTargetRowsInserted") == "10", m.toString)
    }

  test("rows that were deleted by vectors", Slow) {
    val m = merged(vectors) { name =>
      if (name.nonEmpty) spark.sql(s"DELETE FROM $name WHERE id % 3 = 0"): Unit
      of("both")(name)
    }
    assert(m.code == "CONDITION_ADDED", m.toString)
  }

  test("partitioned tables", Slow) {
    val m = merged("PARTITIONED BY (day)", skips = false)(
      of(
        "scattered",
        on =
          "t.id = s.k AND t.day = DATE'2024-01-05' AND date_add(DATE'2024-01-01', CAST(s.k DIV 100 AS INT)) = t.day"
      )
    )
    assert(m.code != "none", m.toString)
    val days = merged("PARTITIONED BY (day)")(
      of(
        "many",
        on = "t.code = lpad(s.k, 8, '0') AND date_add(DATE'2024-01-01', CAST(s.k DIV 100 AS INT)) = t.day"
      )
    )
    assert(days.code == "CONDITION_ADDED" && days.reason.exists(_.text.contains("1 of day")), days.toString)
  }

  test("the history has the condition") {
    target("remembered", "")
    spark.sql(of("many")("remembered"))
    assert(condition("remembered").contains("7099"), condition("remembered"))
  }

  test("the change data feed is the same", Slow) {
    def changes(name: String): Seq[String] = {
      target(name, "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
      spark.sql(of("both")(name))
      sorted(spark.sql(s"SELECT id, tens, code, _change_type FROM table_changes('$name', 2)").collect())
    }
    val on = changes("feed_on")
    assert(on.nonEmpty && on == off(changes("feed_off")))
  }

  test("schema evolution", Slow) {
    conf("spark.databricks.delta.schema.autoMerge.enabled" -> "true") {
      added(
        "(SELECT k AS id, c AS code, 1 AS more FROM both)",
        on = "t.id = s.id",
        clauses = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
      )
    }
  }

  test("DeltaTable's methods") {
    target("by_method", "")
    val (_, files) = counted(
      io.delta.tables.DeltaTable
        .forName(spark, "by_method")
        .as("t")
        .merge(spark.table("many").as("s"), "t.id = s.k")
        .whenMatched()
        .updateExpr(Map("tens" -> "-1"))
        .execute()
    )
    assert(files > 0 && condition("by_method").contains("7099"), condition("by_method"))
    assert(spark.sql("SELECT * FROM by_method WHERE tens = -1").count() == 100)
  }

  test("a source of Delta is read at one version", Slow) {
    target("source", "")
    target("into", "")
    val query = "(SELECT id AS k, code AS c FROM source WHERE id BETWEEN 7000 AND 7100)"
    added(query)
    assert(
      reason(spark.sql(of("(SELECT id AS k, code AS c FROM into WHERE id < 10)")("into")))
        .exists(_.text.contains("reads the target"))
    )
  }

  test("MERGE in foreachBatch", Slow) {
    for (enabled <- Seq("true", "false")) conf(MergeConf.ENABLED.key -> enabled) {
      target(s"streamed_$enabled", "")
      val batch: (DataFrame, Long) => Unit = { (df, _) =>
        df.createOrReplaceTempView("batch")
        df.sparkSession.sql(of("batch")(s"streamed_$enabled")): Unit
      }
      val stream =
        spark.readStream.schema(spark.table("both").schema).parquet(folder.resolve("both").toString)
      stream.writeStream.foreachBatch(batch).start().processAllAvailable()
    }
    def rows(enabled: String) = sorted(spark.sql(s"SELECT * FROM streamed_$enabled").collect())
    assert(rows("true") == rows("false") && rows("true").size == 10010)
  }

  /** Runs a statement in another thread when a MERGE starts its transaction (`startingTransaction`), or commits it. */
  private def beside[T](phase: String, statement: String)(merge: => T): T = {
    val writer: () => Unit = () => {
      val t = new Thread(() => spark.sql(statement).collect(): Unit)
      t.start()
      t.join()
    }
    TransactionHook.at(phase, writer)(merge)
  }

  // The row would be inserted a second time: its key is in none of the ranges.
  test("a source that gets another row after its keys were read", Slow) {
    spark.sql("CREATE TABLE growing USING delta AS SELECT * FROM few")
    spark.table("few").write.parquet(folder.resolve("growing_files").toString)
    spark.read.parquet(folder.resolve("growing_files").toString).createOrReplaceTempView("growing_files")
    for (source <- Seq("growing", "growing_files")) {
      val name = fresh()
      val df =
        beside("startingTransaction", s"INSERT INTO $source VALUES (42, 'late')")(spark.sql(of(source)(name)))
      assert(reason(df).exists(_.code == "CONDITION_ADDED"), reason(df))
      assert(spark.table(source).count() == 11 && spark.table(name).count() == 10000)
      assert(spark.sql(s"SELECT * FROM $name WHERE id = 42 AND tens = 4").count() == 1)
    }
  }

  for ((level, vectors) <- Seq("Serializable" -> true, "default" -> false))
    test(s"concurrent writers conflict as without the condition: $level, deletion vectors: $vectors", Slow) {
      val writers = Seq(
        "a row that matches" -> "INSERT INTO {t} (id, tens) VALUES (7001, 5)",
        "a row that the source inserts" -> "INSERT INTO {t} (id, tens) VALUES (20003, 5)",
        "a row of a range" -> "INSERT INTO {t} (id, tens) VALUES (7050, 5)",
        "an update of a row that matches" -> "UPDATE {t} SET i = 0 WHERE id = 7003",
        "an update of a row in a file of keys" -> "UPDATE {t} SET i = 0 WHERE id = 7500",
        "a deleted row that matches" -> "DELETE FROM {t} WHERE id = 7010"
      )
      val isolation = if (level == "default") "" else s"'delta.isolationLevel' = '$level', "
      val properties = s"TBLPROPERTIES ($isolation'delta.enableDeletionVectors' = '$vectors')"
      for ((what, writer) <- writers) {
        def outcome(merge: String => String): String = {
          val name = fresh(properties)
          Try(beside("beginDoCommit", writer.replace("{t}", name))(spark.sql(merge(name)).collect())).fold(
            e => e.getClass.getSimpleName,
            _ => sorted(spark.sql(s"SELECT * FROM $name").collect()).mkString
          )
        }
        val byHand =
          of("both", on = "t.id = s.k AND (t.id BETWEEN 7000 AND 7099 OR t.id BETWEEN 20000 AND 20009)")
        val on = outcome(of("both"))
        assert(on == off(outcome(byHand)), what)
        assert(on == off(outcome(of("both"))), what)
      }
    }
}

/** What runs in a phase of the next transaction of a thread. */
private object TransactionHook {
  private val observer = Class.forName("org.apache.spark.sql.delta.TransactionExecutionObserver")

  def at[T](phase: String, hook: () => Unit)(body: => T): T = {
    var done = false
    val handler: InvocationHandler = (proxy, method, args) => {
      if (!done && method.getName == phase) {
        done = true
        hook()
      }
      method.getName match {
        case "getNextObserver" | "nextObserver" => None
        case "createChild" => proxy.asInstanceOf[AnyRef]
        case _ =>
          Option(args)
            .flatMap(_.collectFirst { case f: Function0[?] => f() })
            .map(_.asInstanceOf[AnyRef])
            .orNull
      }
    }
    val hooked = Proxy.newProxyInstance(observer.getClassLoader, Array(observer), handler)
    val module = Class.forName(s"${observer.getName}$$").getField("MODULE$").get(null)
    val set = module.getClass.getMethods.find(_.getName == "setObserver").get
    val before = module.getClass.getMethod("getObserver").invoke(module)
    set.invoke(module, hooked)
    try body
    finally {
      set.invoke(module, before): Unit
      assert(done, phase)
    }
  }
}
