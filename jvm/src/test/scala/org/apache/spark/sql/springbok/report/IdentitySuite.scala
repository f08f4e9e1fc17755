package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.report.model.{ExecutionEntry, QueryEntry}
import org.json4s._
import org.json4s.jackson.JsonMethods.parse

class IdentitySuite extends SpringbokTest {
  implicit private val formats: Formats = DefaultFormats
  private val sql = "SELECT k.g, count(*) FROM facts f JOIN keys k ON f.k = k.k WHERE k.g < 5 GROUP BY k.g"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 5000 AS k, id AS v FROM range(10000)")
    table("keys", "SELECT id AS k, id % 50 AS g FROM range(500)")
  }

  private def query(df: DataFrame): QueryEntry = SpringbokReport.of(execution(df)).query
  private def run(df: DataFrame): ExecutionEntry = LastReports.execution(execution(df)).get
  private def last(n: Int): Seq[JValue] = LastReports.last(spark, n).map(parse(_))

  test("a query has its text, its kind, its user, its database and its application") {
    val q = query(spark.sql(sql))
    assert(q.sql.contains(sql) && q.statement == "SELECT" && q.database.contains("default"))
    assert(q.user == spark.sparkContext.sparkUser && q.application == spark.sparkContext.applicationId)
    assert(query(spark.sql(sql).filter("g > 1").select("g")).sql.contains(sql))
  }

  test("a text that belongs to another statement is not that of the query") {
    assert(query(spark.table("facts").join(spark.table("keys"), "k")).sql.isEmpty)
    spark.sql(sql).createOrReplaceTempView("grouped")
    assert(query(spark.table("grouped").filter("g > 1")).sql.isEmpty)
    spark.sql("CREATE TABLE stored_keys USING parquet AS SELECT * FROM keys")
    spark.sql("CREATE VIEW few_keys AS SELECT * FROM stored_keys WHERE g < 5")
    assert(query(spark.table("few_keys").filter("g > 1")).sql.isEmpty)
  }

  test("a run has its number, its start and its duration, so that two runs of one query can be told apart") {
    val before = System.currentTimeMillis
    val (a, b) = (spark.sql(sql), spark.sql(sql))
    assert(SpringbokReport.of(execution(a), LastReports.execution(execution(a))).execution.isEmpty)
    for (df <- Seq(a, b)) df.collect(): Unit
    for (r <- Seq(run(a), run(b))) {
      assert(r.action == "collect" && r.startMs >= before && r.startMs <= System.currentTimeMillis)
      assert(r.durationMs >= 0 && r.callSite.exists(_.contains(".scala:")), r)
      assert(r.jobDescription.isEmpty && r.jobGroup.isEmpty)
    }
    assert(run(a).id < run(b).id)
    val ids = last(2).map(r => (r \ "execution" \ "id").extract[Long])
    assert(ids == Seq(run(b).id, run(a).id))
    assert((parse(SpringbokReport.json(execution(a))) \ "execution" \ "id").extract[Long] == run(a).id)
  }

  test("a run has its job description and its job group") {
    val df = spark.sql(sql)
    spark.sparkContext.setJobGroup("nightly", "the nightly report")
    try df.collect(): Unit
    finally spark.sparkContext.clearJobGroup()
    assert(run(df).jobGroup.contains("nightly") && run(df).jobDescription.contains("the nightly report"))
    assert(run(df).callSite.isEmpty)
  }

  test("the database is the one that was current when the query was planned") {
    spark.sql("CREATE DATABASE elsewhere")
    try {
      spark.sql("USE elsewhere")
      val df = spark.sql(sql)
      executed(df): Unit
      spark.sql("USE default")
      assert(query(df).database.contains("elsewhere"))
    } finally {
      spark.sql("USE default")
      spark.sql("DROP DATABASE elsewhere CASCADE"): Unit
    }
  }

  test("what the session redacts is in no text") {
    conf("spark.sql.redaction.string.regex" -> "(?i)secret\\w*") {
      val df = spark.sql(s"SELECT * FROM ($sql) WHERE 'secret77' <> cast(g AS STRING)")
      spark.sparkContext.setJobGroup("Secret78", "for secret79")
      try df.collect(): Unit
      finally spark.sparkContext.clearJobGroup()
      val text = Seq(query(df).sql, run(df).jobGroup, run(df).jobDescription).flatten.mkString("\n")
      assert(
        text.linesIterator.count(_.contains("redacted")) == 3 && !text.toLowerCase.contains("secret"),
        text
      )
      val kept = last(1).head
      assert((kept \ "query" \ "sql").extract[String] == query(df).sql.get)
    }
  }

  /** A query whose conditions, keys and labels hold a text and a number that are to be hidden. */
  private val secret =
    "SELECT f.v FROM facts f JOIN keys k ON f.k = k.k AND concat('secret', f.v) <> cast(k.g AS STRING) " +
      "WHERE k.g < 471147114 AND concat(cast(k.g AS STRING), 'secret') <> 'Secret80'"

  test("what the session redacts is in no part of a report") {
    assert(SpringbokReport.json(execution(spark.sql(secret))).contains("ecret"))
    conf("spark.sql.redaction.string.regex" -> "(?i)secret\\w*") {
      val df = spark.sql(secret)
      df.collect(): Unit
      for (json <- Seq(SpringbokReport.json(execution(df)), LastReports.last(spark, 1).head))
        assert(!json.toLowerCase.contains("secret") && json.contains("redacted"))
    }
  }

  test("literals can be left out of reports and of EXPLAIN's section") {
    conf(ReportConf.LITERALS.key -> "false") {
      val df = spark.sql(secret)
      df.collect(): Unit
      for (text <- Seq(SpringbokReport.json(execution(df)), ExplainSection.of(execution(df).executedPlan)))
        assert(!text.toLowerCase.contains("secret") && !text.contains("471147114"), text)
      assert(query(df).sql.isEmpty && SpringbokReport.json(execution(df)).contains("?"))
    }
  }

  // Thrift servers describe a run by its SQL text.
  test("the description of a run can hold the query's literals") {
    spark.sparkContext.setJobGroup("statement-7", secret)
    try
      for (shown <- Seq(true, false)) conf(ReportConf.LITERALS.key -> shown.toString) {
        spark.sql(secret).collect(): Unit
        val json = LastReports.last(spark, 1).head
        assert(json.contains("secret") == shown && json.contains("statement-7"), json)
      }
    finally spark.sparkContext.clearJobGroup()
  }

  test("a text is cut after it is redacted") {
    conf("spark.sql.redaction.string.regex" -> "'eyJ[^']+'") {
      assert(!Shown.plain("token = 'eyJ" + "a" * 200 + "'").contains("eyJ"))
    }
  }

  test("writes are told from queries") {
    spark.sql(s"CREATE TABLE made USING parquet AS $sql")
    spark.sql(s"INSERT INTO made $sql")
    spark.sql(sql).write.mode("append").saveAsTable("made")
    spark.sql(sql).write.mode("overwrite").parquet(folder.resolve("written").toString)
    spark.sql(sql).collect(): Unit
    val kinds = last(20).map(r => (r \ "query" \ "statement").extract[String])
    assert(kinds.head == "SELECT" && kinds.slice(1, 4).forall(_ == "INSERT"), kinds)
    assert(kinds.exists(k => k == "CREATE TABLE AS SELECT" || k == "INSERT"), kinds)
    val texts = last(4).map(r => (r \ "query" \ "sql").extractOpt[String])
    assert(texts.forall(_.exists(_.contains("FROM facts f JOIN keys k"))), texts)
  }
}
