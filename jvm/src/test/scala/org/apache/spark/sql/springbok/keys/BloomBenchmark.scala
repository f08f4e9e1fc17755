package org.apache.spark.sql.springbok.keys

import java.io.ByteArrayOutputStream
import java.nio.file.{Files, Paths}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.BloomFilterAggregate
import org.apache.spark.sql.classic.{ExpressionUtils, SparkSession}
import org.apache.spark.sql.execution.{ProjectExec, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.springbok.{SummarizeKeysExec, SummaryPlan}
import org.apache.spark.sql.functions.{col, count, sum}
import org.apache.spark.util.sketch.BloomFilter
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.{pretty, render}

/**
 * The split-block bloom filter against Spark's own, `bloom_filter_agg` and `might_contain`, at one rate of false
 * positives: rows a second of filling and of testing, in generated code, one task. Writes results to the file that is its
 * argument; `make bench-bloom` runs it.
 */
object BloomBenchmark {
  private val keys = Seq(10000L, 100000L, 1000000L, 10000000L)
  private val rows = 20000000L
  private val rounds = 5
  private val rate = 0.01

  def main(args: Array[String]): Unit = {
    val spark = SparkSession
      .builder()
      .master("local[1]")
      .config("spark.sql.adaptive.enabled", "false")
      .config("spark.sql.shuffle.partitions", "1")
      .getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    val head = Seq(
      "keys",
      "bytes",
      "Spark's bytes",
      "false positives",
      "Spark's",
      "row ns without",
      "test ns",
      "Spark's test ns",
      "test ratio",
      "put ns",
      "Spark's put ns",
      "put ratio"
    )
    val table = head +: keys.map(new Measured(spark, _).cells)
    table.foreach(r => println(r.mkString(" | ")))
    val cores = Runtime.getRuntime.availableProcessors
    val results = ("title" -> f"Bloom filters: Springbok's and Spark's own, $rows%,d rows, one task") ~
      ("command" -> "make bench-bloom") ~
      ("machine" -> ("cores" -> cores) ~ ("architecture" -> sys.props(
        "os.arch"
      )) ~ ("master" -> "local[1]")) ~
      ("versions" -> ("spark" -> spark.version) ~ ("java" -> sys.props("java.version"))) ~
      ("table" -> table)
    Files.writeString(Paths.get(args(0)), pretty(render(results)) + "\n"): Unit
    spark.stop()
  }

  final private class Measured(spark: SparkSession, n: Long) {
    private val bytes = SplitBlockBloom.bytesFor(n.toDouble, rate, 32, 64L << 20)
    private val ours = SplitBlockBloom.ofBytes(bytes)
    (0L until n).foreach(k => ours.put(KeyType.hashLong(k)))
    private val foreign = n until n + 1000000L
    private val oursPass = foreign.count(k => ours.mightContain(KeyType.hashLong(k))) / 1e6

    private def hashed(k: Long): Long = XxHash64Function.hash(k, org.apache.spark.sql.types.LongType, 42L)

    private def spark(rate: Double): BloomFilter = {
      val f = BloomFilter.create(n, rate)
      (0L until n).foreach(k => f.putLong(hashed(k)))
      f
    }

    private def passing(f: BloomFilter): Double = foreign.count(k => f.mightContainLong(hashed(k))) / 1e6

    private val theirs = {
      // As many false positives as ours, measured: what is asked for is met only by and large.
      val first = spark(oursPass)
      spark(oursPass * oursPass / passing(first))
    }

    /** A tenth of the rows has a key of the filter. */
    private val probe = spark.range(0, rows, 1, 1).select((col("id") % (n * 10)).as("k")).toDF()
    private val build = spark.range(0, rows, 1, 1).select((col("id") % n).as("k")).toDF()

    private def tested(test: Expression => Expression): () => Unit = {
      val rows = probe.where(ExpressionUtils.column(test(probe.queryExecution.analyzed.output.head)))
      val plan = rows.agg(count("k")).queryExecution.executedPlan
      () => plan.executeCollect(): Unit
    }

    /** The sum of the keys, beside which they are put into a filter or not. */
    private def summed(into: ProjectExec => SparkPlan): () => Unit = {
      val plan = build.agg(sum("k")).queryExecution.sparkPlan.transformUp { case p: ProjectExec => into(p) }
      val ready = QueryExecution.prepareExecutedPlan(spark, plan)
      () => ready.executeCollect(): Unit
    }

    private def filled(p: ProjectExec): SparkPlan = {
      val key = BuildKey.of(p.output.head, p.output) -> bytes
      SummarizeKeysExec(
        SummaryPlan(Nil, Seq(key), inLimit = 1024, mergeBytes = Long.MaxValue, taskBytes = Long.MaxValue),
        p
      )
    }

    private def aggregated: () => Unit = {
      val k = new XxHash64(Seq(build.queryExecution.analyzed.output.head))
      val filter = new BloomFilterAggregate(k, Literal(n), Literal(theirs.bitSize()))
      val plan = build
        .agg(ExpressionUtils.column(filter.toAggregateExpression()).as("b"))
        .queryExecution
        .executedPlan
      () => plan.executeCollect(): Unit
    }

    def cells: Seq[String] = {
      val shipped = Shipped.of(spark.sparkContext, ours, ours.bytes)
      val bits = new ByteArrayOutputStream
      theirs.writeTo(bits)
      val plans = Seq(
        // Computes the key as well.
        tested(GreaterThanOrEqual(_, Literal(0L))),
        tested(BloomContains(_, shipped)),
        tested(k => BloomFilterMightContain(Literal(bits.toByteArray), new XxHash64(Seq(k)))),
        summed(identity),
        summed(filled),
        aggregated
      )
      // By turns, the first two rounds to warm up.
      val times = (0 until rounds + 2).map(_ => plans.map(nanosARow)).drop(2)
      def at(i: Int) = median(times.map(_(i)))
      val (test, sparkTest) = (at(1) - at(0), at(2) - at(0))
      val (put, sparkPut) = (at(4) - at(3), at(5) - at(3))
      Seq(
        f"$n%,d",
        f"$bytes%,d",
        f"${bits.size}%,d",
        f"$oursPass%.4f",
        f"${passing(theirs)}%.4f",
        f"${at(0)}%.1f",
        f"$test%.1f",
        f"$sparkTest%.1f",
        f"${sparkTest / test}%.1fx",
        f"$put%.1f",
        f"$sparkPut%.1f",
        f"${sparkPut / put}%.1fx"
      )
    }

    private def nanosARow(run: () => Unit): Double = {
      val start = System.nanoTime()
      run()
      (System.nanoTime() - start).toDouble / rows
    }

    private def median(of: Seq[Double]): Double = of.sorted.apply(of.size / 2)
  }
}
