package org.apache.spark.sql.springbok

import java.nio.file.Files
import java.util.concurrent.CompletableFuture

import org.apache.spark.{SPARK_VERSION, SPARK_VERSION_SHORT}
import org.apache.spark.sql.{ExtendedExplainGenerator, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.springbok.SpringbokCostEvaluator
import org.apache.spark.sql.springbok.catalyst.RunningSpark
import org.apache.spark.sql.springbok.conf.{JoinConf, SpringbokConf}
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}
import org.apache.spark.sql.springbok.report.{SpringbokExplain, SpringbokReport}
import org.apache.spark.sql.springbok.rules.aggregates.AggregateBelowJoins
import org.apache.spark.sql.springbok.rules.conjuncts.OrderConjuncts
import org.apache.spark.sql.springbok.rules.joins.{ChooseJoinStrategy, LeaveToSpark, PlanSingleNode}
import org.apache.spark.sql.springbok.rules.reorder.ReorderJoins
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.RememberScans
import org.apache.spark.sql.springbok.rules.shuffles.MarkRepartitions

class SpringbokExtensionsSuite extends SpringbokTest {

  /** Its tests change the context's settings. */
  override protected def ownContext: Boolean = true

  private val join = "SELECT count(*), sum(v) FROM facts f JOIN keys k ON f.k = k.k WHERE k.g = 3"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 5000 AS k, id AS v FROM range(100000)")
    table("keys", "SELECT id AS k, id % 50 AS g FROM range(5000)")
  }

  for (
    rule <- Seq("ChooseJoinStrategy", "ReviseJoinStrategy", "PlaceRuntimeFilters", "ResolveRuntimeFilters")
  )
    test(s"a failing $rule leaves query and answer intact and shows in the report") {
      conf(
        "spark.sql.autoBroadcastJoinThreshold" -> "-1",
        JoinConf.BROADCAST_BYTES_LIMIT.key -> "0",
        SpringbokConf.FAIL_IN.key -> rule
      ) {
        val df = same(join)
        val json = SpringbokReport.json(df.asInstanceOf[DataFrame].queryExecution)
        assert(json.contains(s""""rule":"$rule""""), json)
      }
    }

  test("the same code is compiled once, whichever stage comes first, unless the user wants numbers in it") {
    val key = "spark.sql.codegen.useIdInClassName"
    assert(spark.newSession().sql("SELECT 1").count() == 1 && spark.conf.get(key) == "false")
    val other = spark.newSession()
    other.conf.set(key, "true")
    assert(other.sql("SELECT 1").count() == 1 && other.conf.get(key) == "true")
  }

  // `RESET` once removed Springbok's changes of Spark's settings for the rest of the session.
  test("RESET takes nothing away for good that Springbok needs of Spark's settings") {
    val s = spark.newSession()
    def evaluator = s.conf.getOption("spark.sql.adaptive.customCostEvaluatorClass")
    assert(
      s.sql("SELECT 1").count() == 1 && evaluator.contains(classOf[SpringbokCostEvaluator].getName)
    )
    s.sql("RESET")
    assert(
      s.sql("SELECT 1").count() == 1 && evaluator.contains(classOf[SpringbokCostEvaluator].getName)
    )
  }

  /** What the block gives in a thread with this class loader, and the thread's loader then. */
  private def inThread[T](loader: ClassLoader)(body: => T): (T, ClassLoader) = {
    val result = new CompletableFuture[(T, ClassLoader)]()
    val thread = new Thread(() =>
      try result.complete(body -> Thread.currentThread.getContextClassLoader): Unit
      catch { case e: Throwable => result.completeExceptionally(e): Unit }
    )
    thread.setContextClassLoader(loader)
    thread.start()
    result.get()
  }

  // With the jar from `--jars`, adaptive queries once failed in threads of a common pool, because Spark loads
  // its cost evaluator by name. So did a query that one thread optimized and another thread planned.
  test("a query runs in a thread whose class loader does not know the jar, as in the common pool's") {
    val own = classOf[SpringbokExtensions].getClassLoader
    val df = spark.range(10).repartition(3)
    val (rows, after) = inThread(own.getParent)(df.count())
    assert(rows == 10 && (after eq own))
    // Optimized here, planned there.
    val optimized = spark.range(10).repartition(3)
    assert(optimized.queryExecution.optimizedPlan != null)
    val (again, loader) =
      inThread(own.getParent)(optimized.queryExecution.executedPlan.executeCollect().length)
    assert(again == 10 && (loader eq own))
  }

  test(
    "where a thread's class loader has nothing to do with the jar's, the session goes without the evaluator"
  ) {
    val own = classOf[SpringbokExtensions].getClassLoader
    val foreign = new ClassLoader(own) {
      override def loadClass(name: String, resolve: Boolean): Class[_] =
        if (name.contains(".springbok.")) throw new ClassNotFoundException(name)
        else super.loadClass(name, resolve)
    }
    val s = spark.newSession()
    def provider = s.conf.getOption("spark.sql.extendedExplainProviders").getOrElse("")
    def evaluator = s.conf.getOption("spark.sql.adaptive.customCostEvaluatorClass")
    assert(s.range(10).repartition(3).count() == 10 && evaluator.isDefined)
    val (rows, after) = inThread(foreign)(s.range(10).repartition(3).count())
    assert(rows == 10 && (after eq foreign) && evaluator.isEmpty && provider.isEmpty)
    assert(s.range(10).repartition(3).count() == 10 && evaluator.isEmpty && provider.isEmpty)
  }

  // The provider was a setting of the cluster, with which Spark fails each query of a session that has no jar.
  test("a session adds the section of EXPLAIN to the user's own, and an empty list keeps it away") {
    assume(SPARK_VERSION_SHORT >= "4")
    val key = "spark.sql.extendedExplainProviders"
    def section(s: SparkSession) = s.sql("EXPLAIN " + join).head().getString(0).contains("(Springbok)")
    def providers(set: Option[String]) = {
      val s = spark.newSession()
      Seq("facts", "keys").foreach(t => s.read.parquet(folder.resolve(t).toString).createOrReplaceTempView(t))
      set.foreach(s.conf.set(key, _))
      (section(s), s.conf.getOption(key))
    }
    val own = classOf[SpringbokExplain].getName
    val other = classOf[OtherSection].getName
    assert(providers(None) == ((true, Some(own))))
    assert(providers(Some(other)) == ((true, Some(s"$other,$own"))))
    assert(providers(Some("")) == ((false, Some(""))))
  }

  test("switched off, every plan is Spark's") {
    SparkSession.clearActiveSession()
    val queries = Seq(
      join,
      "SELECT * FROM facts f LEFT JOIN keys k ON f.k = k.k",
      "SELECT count(*) FROM facts WHERE k IN (SELECT k FROM keys WHERE g = 1)"
    )
    def normalized(df: DataFrame) =
      df.queryExecution.toString
        .replaceAll("#\\d+L?", "#")
        .replaceAll("plan_id=\\d+", "plan_id")
        .replaceAll("\\d+\\]", "]")
    val off = spark.newSession()
    off.conf.set(SpringbokConf.ENABLED.key, "false")
    val extensions = "spark.sql.extensions"
    spark.sparkContext.conf.remove(extensions): Unit
    val plain =
      try new SparkSession(spark.sparkContext)
      finally spark.sparkContext.conf.set(extensions, classOf[SpringbokExtensions].getName): Unit
    for (s <- Seq(off, plain); t <- Seq("facts", "keys"))
      s.read.parquet(folder.resolve(t).toString).createOrReplaceTempView(t)
    plain.conf.set("spark.sql.shuffle.partitions", "4")
    for (q <- queries) {
      val (a, b) = (off.sql(q).asInstanceOf[DataFrame], plain.sql(q).asInstanceOf[DataFrame])
      assert(normalized(a) == normalized(b), q)
      a.collect()
      b.collect()
      assert(normalized(a) == normalized(b), q)
    }
    SparkSession.setActiveSession(spark)
  }

  test("a user's own rules stay, and a cloned session works", Smoke) {
    val own = new Rule[LogicalPlan] { override def apply(p: LogicalPlan): LogicalPlan = p }
    val s = spark.newSession()
    s.experimental.extraOptimizations = Seq(own)
    s.range(10).join(s.range(5), "id").collect()
    s.range(10).join(s.range(5), "id").collect()
    val rules = Seq(
      own,
      RememberScans,
      LeaveToSpark,
      ReorderJoins,
      AggregateBelowJoins,
      OrderConjuncts,
      ChooseJoinStrategy,
      PlanSingleNode,
      MarkRepartitions
    )
    assert(s.experimental.extraOptimizations == rules)
    val cached = spark.sql("SELECT f.k, f.v FROM facts f JOIN keys k ON f.k = k.k WHERE k.g = 3").cache()
    assert(cached.count() == 2000)
    assert(cached.join(spark.table("keys"), "k").count() == 2000)
    cached.unpersist()
  }

  test("it works next to another extension") {
    val extensions = spark.sparkContext.conf.get("spark.sql.extensions")
    spark.sparkContext.conf
      .set("spark.sql.extensions", s"${classOf[OtherExtension].getName},$extensions"): Unit
    val s =
      try new SparkSession(spark.sparkContext)
      finally spark.sparkContext.conf.set("spark.sql.extensions", extensions): Unit
    val df = s.range(100).join(s.range(10), "id")
    assert(
      df.count() == 10 && OtherExtension.runs > 0 && PlanningState
        .of(df.asInstanceOf[DataFrame].queryExecution.optimizedPlan)
        .isDefined
    )
    SparkSession.setActiveSession(spark)
  }

  test("subqueries have filters of their own ids, and correlated ones are planned with their query") {
    val df = same(
      "SELECT count(*) FROM facts f WHERE f.v > (SELECT avg(f2.v) FROM facts f2 JOIN keys k ON f2.k = k.k WHERE k.g = 3) " +
        "AND EXISTS (SELECT 1 FROM keys k2 WHERE k2.k = f.k AND k2.g = 4)"
    )
    val ids = record(df).filters.all.flatMap(_.number)
    assert(ids.distinct == ids)
  }

  // Each was optimized as a query of its own, before it became a join of this one. Joins of one number once took each other's
  // late filters.
  test("joins have numbers of their own in subqueries that become joins of their query") {
    val df = same(
      "SELECT count(*) FROM facts f WHERE f.k IN (SELECT x.k FROM keys x JOIN keys y ON x.k = y.k + 1 WHERE x.g = 3) " +
        "AND f.v IN (SELECT a.v FROM facts a JOIN keys b ON a.k = b.k JOIN keys c ON b.k = c.k + 2 WHERE b.g < 9)"
    )
    val ids = execution(df).optimizedPlan.collect { case j: Join => JoinState.of(j).get.id }
    assert(ids.size == 5 && ids.distinct == ids)
    assert(record(df).joins.size == 5)
  }

  test("a wrong value fails when it is set, with the allowed values", Smoke) {
    val e =
      intercept[IllegalArgumentException](spark.conf.set("spark.springbok.runtimeFilter.mode", "SOMETIMES"))
    assert(e.getMessage.contains("GLOBAL"))
    intercept[IllegalArgumentException](spark.conf.set("spark.springbok.runtimeFilter.inLimit", "-1"))
    intercept[IllegalArgumentException](spark.conf.set("spark.springbok.join.broadcastMemoryFraction", "2"))
    // MiB in spark.executor.memory, and once 8 KB here.
    val bare =
      intercept[IllegalArgumentException](spark.conf.set("spark.springbok.cluster.executorMemory", "8192"))
    assert(bare.getMessage.contains("with a unit such as 8g"))
  }

  test("the generated files are those of the settings") {
    WriteDocs.files.foreach { case (path, text) =>
      assert(Files.readString(path) == text, s"$path is stale: run 'make docs'")
    }
  }

  test("another Spark is refused with one sentence", Smoke) {
    val scala = util.Properties.versionNumberString
    assert(RunningSpark.refusal("9.8.7", scala).contains("this is Spark 9.8.7"))
    assert(RunningSpark.refusal(SPARK_VERSION, "2.11.8").contains("Scala 2.11"))
    assert(RunningSpark.refusal(SPARK_VERSION, scala) == null && RunningSpark.refusal() == null)
    assert(RunningSpark.VERSION.matches("\\d+\\.\\d+\\.\\d+(\\+[0-9a-f]{7,}(\\.dev)?)?"))
  }

  test("a vendor's build belongs to the line that its version begins with") {
    val vendor = SPARK_VERSION.split('.').take(2).mkString("", ".", ".6-amzn-1")
    assert(RunningSpark.refusal(vendor, util.Properties.versionNumberString) == null)
  }

  test("a streaming plan and a plan without joins are left alone") {
    val keys = spark.table("keys")
    val stream =
      spark.readStream.format("rate").load().join(keys, org.apache.spark.sql.functions.expr("value = k"))
    val analyzed = stream.asInstanceOf[DataFrame].queryExecution.analyzed
    assert((ChooseJoinStrategy(analyzed) eq analyzed) && PlanningState.of(analyzed).isEmpty)
    val json = SpringbokReport.json(spark.sql("SELECT 1").asInstanceOf[DataFrame].queryExecution)
    assert(json.contains("No join"))
  }
}

class OtherExtension extends (SparkSessionExtensions => Unit) {
  override def apply(e: SparkSessionExtensions): Unit = e.injectOptimizerRule { _ =>
    new Rule[LogicalPlan] {
      override def apply(p: LogicalPlan): LogicalPlan = {
        OtherExtension.runs += 1
        p
      }
    }
  }
}

object OtherExtension {
  @volatile var runs = 0
}

/** Another extension's section of EXPLAIN. */
class OtherSection extends ExtendedExplainGenerator {
  override def title: String = "Other"
  override def generateExtendedInfo(plan: SparkPlan): String = "nothing"
}
