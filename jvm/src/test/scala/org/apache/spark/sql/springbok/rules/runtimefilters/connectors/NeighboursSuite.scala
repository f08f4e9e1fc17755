package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.{Smoke, SpringbokExtensions, SpringbokTest}
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.QueryExecutionListener

/** Springbok beside the extensions of Delta, of Iceberg and of a user, in each order: what any of them does stays. */
class NeighboursSuite extends SpringbokTest {
  private val springbok = classOf[SpringbokExtensions].getName
  private val delta = "io.delta.sql.DeltaSparkSessionExtension"
  private val iceberg = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
  private val user = classOf[UserRules].getName

  override protected def sessionConf: Map[String, String] = super.sessionConf ++ shuffled ++ Map(
    "spark.sql.extensions" -> s"$delta,$iceberg,$springbok",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.ice" -> "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type" -> "hadoop",
    "spark.sql.catalog.ice.warehouse" -> folder.resolve("iceberg").toString,
    // Sessions write each other's tables.
    "spark.sql.catalog.ice.cache-enabled" -> "false",
    "spark.databricks.delta.snapshotPartitions" -> "2"
  )

  private val columns = "id, id DIV 10 AS tens, lpad(id, 8, '0') AS code"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val rows = s"SELECT $columns FROM range(0, 10000, 1, 10)"
    spark.sql(rows).write.format("delta").save(path("lake"))
    spark.sql("CREATE NAMESPACE ice.db")
    for (t <- Seq("berg", "guarded")) spark.sql(s"CREATE TABLE ice.db.$t USING iceberg AS $rows")
    table("dim", "SELECT id, id AS k, id % 3 AS grp, id DIV 100 AS hundreds FROM range(10000)")
    views()
  }

  private def path(name: String): String = folder.resolve("tables").resolve(name).toString

  private def views(): Unit = {
    spark.read.parquet(folder.resolve("dim").toString).createOrReplaceTempView("dim")
    spark.read.format("delta").load(path("lake")).createOrReplaceTempView("lake")
  }

  /** Runs with a session of these extensions, in this order. */
  private def loading[T](extensions: String*)(body: => T): T = {
    val (before, sc, key) = (spark, spark.sparkContext, "spark.sql.extensions")
    val old = sc.conf.get(key)
    sc.conf.set(key, extensions.mkString(",")): Unit
    SparkSession.clearActiveSession()
    spark =
      try new SparkSession(sc)
      finally sc.conf.set(key, old): Unit
    try {
      SparkSession.setActiveSession(spark)
      SparkSession.setDefaultSession(spark)
      views()
      body
    } finally {
      spark = before
      SparkSession.setActiveSession(spark)
      SparkSession.setDefaultSession(spark)
    }
  }

  /** What ran while the block did, commands and what they ran too. */
  private def running(body: => Unit): Seq[QueryExecution] = {
    val found = new ConcurrentLinkedQueue[QueryExecution]()
    val listener = new QueryExecutionListener {
      override def onSuccess(name: String, qe: QueryExecution, ns: Long): Unit = found.add(qe): Unit
      override def onFailure(name: String, qe: QueryExecution, e: Exception): Unit = ()
    }
    spark.listenerManager.register(listener)
    try {
      body
      spark.sparkContext.listenerBus.waitUntilEmpty()
    } finally spark.listenerManager.unregister(listener)
    found.asScala.toSeq
  }

  private def filters(ran: Seq[QueryExecution]): Int = ran
    .map(q => collectWithSubqueries(q.executedPlan) { case f: AppliedRuntimeFilterExec => f }.size)
    .sum

  /** On another column than the joins': Spark does not infer it for the other tables. */
  private val few = "d.k BETWEEN 2000 AND 2063"
  private val joined =
    s"""SELECT l.id, l.code, b.tens, d.grp FROM lake l JOIN ice.db.berg b ON l.id = b.id
       |JOIN dim d ON b.id = d.id WHERE $few""".stripMargin

  private val orders = Seq(
    Seq(springbok, delta, iceberg),
    Seq(delta, springbok, iceberg),
    Seq(iceberg, springbok, delta),
    Seq(iceberg, delta, springbok)
  )

  private def label(order: Seq[String]): String = order.map(_.split('.').last.take(9)).mkString(", ")

  for ((order, i) <- orders.zipWithIndex)
    test(
      s"a query that joins both formats with Parquet: ${label(order)}",
      Seq(Smoke).filter(_ => i == 1): _*
    ) {
      loading(order: _*) {
        val df = same(joined)
        val ways = told(df).flatMap(_.toOption)
        assert(
          df.count() == 64 && ways.toSet == Set("files", "rebuilt"),
          record(df).filters.all.map(_.reason.text)
        )
        same(s"SELECT l.id FROM lake l LEFT ANTI JOIN ice.db.berg b ON l.id = b.tens AND b.id < 5000")
        same(
          s"SELECT count(*) FROM ice.db.berg b WHERE b.id IN (SELECT l.id FROM lake l JOIN dim d ON l.id = d.id WHERE $few)"
        )
      }
    }

  /** Tables of both formats after they were made, overwritten and merged into, each time from a join. */
  private def written(suffix: String): Seq[String] = Seq("delta" -> "", "iceberg" -> "ice.db.").flatMap {
    case (format, catalog) =>
      val t = s"${catalog}made_${format}_$suffix"
      val at = if (format == "delta") s"LOCATION '${path(s"made_$suffix")}'" else ""
      spark.sql(s"CREATE TABLE $t USING $format $at AS $joined")
      spark.sql(s"INSERT INTO $t SELECT l.id, l.code, l.tens, 7L FROM lake l WHERE l.id < 3000")
      spark.sql(
        s"""MERGE INTO $t t USING (SELECT b.id, d.grp FROM ice.db.berg b JOIN lake l ON b.id = l.id JOIN dim d ON l.id = d.id
           |  WHERE d.k BETWEEN 2050 AND 2100) s ON t.id = s.id AND t.grp = 7
           |WHEN MATCHED AND s.grp = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET tens = -1
           |WHEN NOT MATCHED THEN INSERT (id, code, tens, grp) VALUES (s.id, 'new', 0, s.grp)""".stripMargin
      )
      val merged = sorted(spark.sql(s"SELECT * FROM $t").collect())
      spark.sql(s"INSERT OVERWRITE $t $joined AND d.grp = 1")
      merged ++ sorted(spark.sql(s"SELECT * FROM $t").collect())
  }

  for ((order, i) <- orders.zipWithIndex)
    test(s"CTAS, INSERT OVERWRITE and MERGE whose source is a join: ${label(order)}") {
      loading(order: _*) {
        var on = Seq.empty[String]
        val ran = running { on = written(s"on_$i") }
        assert(on.nonEmpty && on == off(written(s"off_$i")))
        // Each format: one for each of two tables, in the three commands.
        assert(filters(ran) >= 12, ran.map(_.executedPlan))
      }
    }

  /** A stream of files, a tenth of the rows in each. */
  private def stream(format: String): DataFrame =
    if (format == "delta")
      spark.readStream.format("delta").option("maxFilesPerTrigger", "4").load(path("lake"))
    else {
      if (!folder.resolve("arriving").toFile.exists())
        spark.read.format("delta").load(path("lake")).write.parquet(folder.resolve("arriving").toString)
      val schema = StructType.fromDDL("id BIGINT, tens BIGINT, code STRING")
      spark.readStream
        .schema(schema)
        .option("maxFilesPerTrigger", "4")
        .parquet(folder.resolve("arriving").toString)
    }

  private def statics(session: SparkSession): DataFrame =
    session.sql(s"SELECT b.id, b.tens AS t, d.grp FROM ice.db.berg b JOIN dim d ON b.id = d.id WHERE $few")

  /** What a query of a plain sink gives, and what one gives that joins in each batch. */
  private def streamed(format: String): (Seq[String], Seq[String]) = {
    def run(start: => StreamingQuery): Unit = {
      val q = start
      try q.processAllAvailable()
      finally q.stop()
    }
    val name = s"sink_${System.nanoTime}"
    run(stream(format).join(statics(spark), "id").writeStream.format("memory").queryName(name).start())
    val out = new ConcurrentLinkedQueue[Row]()
    def batch(rows: DataFrame, id: Long): Unit = {
      val df = rows.join(statics(rows.sparkSession.asInstanceOf[SparkSession]), "id")
      val found = df.collect()
      found.foreach(out.add(_): Unit)
      val Seq(enabled, adaptive) = Seq(SpringbokConf.ENABLED.key, "spark.sql.adaptive.enabled")
        .map(rows.sparkSession.conf.get(_).toBoolean): @unchecked
      // Before version 4.1, Spark runs the queries of a batch without adaptive execution.
      assert(adaptive == (SPARK_VERSION >= "4.1"))
      // Where no row is left, adaptive execution puts an empty relation in place of the filters.
      assert(found.isEmpty || applied(df).nonEmpty == (enabled && adaptive), executed(df))
    }
    run(stream(format).writeStream.foreachBatch(batch _).start())
    (sorted(spark.table(name).collect()), sorted(out.asScala.toArray))
  }

  for (format <- Seq("delta", "files"))
    test(s"streams that are joined with tables, by Spark and batch by batch: $format") {
      val on = streamed(format)
      assert(on._1.size == 64 && on == off(streamed(format)))
      assert(on._2 == on._1)
    }

  test("cached tables over a join of lake tables, before and after they are filled") {
    for (order <- orders)
      loading(order: _*) {
        val cached = spark.sql(joined).cache()
        cached.createOrReplaceTempView("kept")
        val sql = "SELECT k.id, d.hundreds FROM kept k JOIN dim d ON k.id = d.id WHERE d.k > 2030"
        val expected = off(sorted(spark.sql(sql.replace("kept", s"($joined)")).collect()))
        for (_ <- 1 to 2) {
          val df = spark.sql(sql)
          assert(sorted(df.collect()) == expected)
          val buffers = collectWithSubqueries(executed(df)) { case s: InMemoryTableScanExec => s.relation }
          assert(buffers.nonEmpty, executed(df))
          val filled = buffers.head.cacheBuilder.cachedPlan
          assert(collectWithSubqueries(filled) { case f: AppliedRuntimeFilterExec => f }.nonEmpty, filled)
        }
        cached.unpersist(): Unit
      }
  }

  test("temporary and permanent views of joins of lake tables") {
    for (order <- orders)
      loading(order: _*) {
        spark.sql(s"CREATE TABLE lake_table USING delta LOCATION '${path("lake")}'")
        spark.sql(
          s"CREATE TABLE dim_table USING parquet LOCATION '${folder.resolve("dim")}'"
        )
        spark.sql(s"CREATE TEMPORARY VIEW passing AS $joined")
        spark.sql(
          s"CREATE VIEW lasting AS ${joined.replace("lake l", "lake_table l").replace("dim d", "dim_table d")}"
        )
        for (view <- Seq("passing", "lasting")) {
          val df = same(
            s"SELECT v.id, v.grp, f.tens FROM $view v JOIN ice.db.berg f ON v.tens = f.id WHERE v.grp = 1"
          )
          assert(used(df).size >= 2, (view, record(df).filters.all.map(_.reason.text)))
        }
      }
  }

  private val withUser = Seq(
    Seq(user, springbok, delta, iceberg),
    Seq(delta, iceberg, springbok, user),
    Seq(delta, user, iceberg, springbok),
    Seq(springbok, iceberg, user, delta)
  )

  for (order <- withUser; adaptive <- Seq(true, false))
    test(s"a user's own rules work, and so does Springbok: ${label(order)}, adaptive: $adaptive") {
      loading(order: _*) {
        val sql =
          s"""SELECT l.id, g.code, d.grp, '{user}' AS author FROM lake l JOIN ice.db.guarded g ON l.id = g.id
                     |JOIN dim d ON g.id = d.id WHERE $few ORDER BY l.id DESC""".stripMargin
        conf("spark.sql.adaptive.enabled" -> adaptive.toString) {
          val df = same(sql)
          val rows = df.collect()
          assert(rows.map(_.getLong(0)).toSeq == (2000L to 2063L).filterNot(_ % 5 == 0).reverse)
          assert(rows.forall(_.getString(3) == "a user"))
          val own = collectWithSubqueries(executed(df)) { case u: UserExec => u.what }
          assert(own.sorted == Seq("join", "join", "sort"), executed(df))
          assert(record(df).joins.size == 2 && record(df).joins.forall(_.planned.isDefined))
          if (adaptive) assert(told(df).flatMap(_.toOption).toSet == Set("files", "rebuilt"), executed(df))
        }
      }
    }
}
