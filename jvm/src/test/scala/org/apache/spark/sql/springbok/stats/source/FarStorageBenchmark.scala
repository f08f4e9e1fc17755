package org.apache.spark.sql.springbok.stats.source

import java.nio.file.{Files, Path, Paths}

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.springbok.SpringbokExtensions
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.{pretty, render}

/**
 * What the statistics of a table in a far store add to planning: 30 ms to open a file, 50 ms to list a folder, 80 MB a second.
 * Tables are of 1, 100 and 10,000 files, each read by nobody before; one query joins by two more keys, whose values are
 * counted in dictionaries. Writes results to the file that is its argument;
 * `make bench-far` runs it.
 */
object FarStorageBenchmark {
  private val rounds = 5

  def main(args: Array[String]): Unit = {
    val spark = SparkSession
      .builder()
      .master("local[2]")
      .config("spark.sql.extensions", classOf[SpringbokExtensions].getName)
      .config("spark.hadoop.fs.far.impl", classOf[FarFileSystem].getName)
      .config("spark.ui.enabled", "false")
      .getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    val folder = Files.createTempDirectory("far")
    spark.sql("SELECT id AS k, id % 5 AS grp FROM range(50)").write.parquet(folder.resolve("dim").toString)
    spark.read.parquet(folder.resolve("dim").toString).createOrReplaceTempView("dim")
    spark
      .sql("SELECT id * 1000 AS w, id % 7 AS grp FROM range(500)")
      .write
      .parquet(folder.resolve("wide").toString)
    spark.read.parquet(folder.resolve("wide").toString).createOrReplaceTempView("wide")
    val part = FarTable.part(spark, folder.resolve("one"), rows)
    // The first plannings of a session load classes.
    (0 until 20).foreach(i => planned(spark, table(spark, folder, part, s"warm$i", 2), wide))
    val head = Seq(
      "files",
      "Spark ms",
      "first ms",
      "later ms",
      "added first ms",
      "added later ms",
      "opened first",
      "opened later"
    )
    val cellsOf =
      Seq(1, 100, 10000).map(cells(spark, folder, part, _)) :+ cells(spark, folder, part, 100, wide)
    (head +: cellsOf).foreach(r => println(r.mkString(" | ")))
    val results = ("title" -> "Planning a join of a table in a far store") ~
      ("command" -> "make bench-far") ~
      ("machine" -> ("cores" -> Runtime.getRuntime.availableProcessors) ~ ("architecture" -> sys.props(
        "os.arch"
      )) ~
        ("master" -> "local[2]")) ~
      ("versions" -> ("spark" -> spark.version) ~ ("java" -> sys.props("java.version"))) ~
      ("table" -> (head +: cellsOf))
    Files.writeString(Paths.get(args(0)), pretty(render(results)) + "\n"): Unit
    spark.stop()
  }

  private val rows = """SELECT id, id % 50 AS k, concat('n', id % 7) AS n, concat('m', id % 9) AS m,
                       |id % 500 * 1000 AS v, id % 300 * 1000 AS w FROM range(20000)""".stripMargin

  /** Joins by keys whose range says nothing of the number of their values. */
  private val wide = " JOIN wide v ON f.v = v.w AND v.grp = 2 JOIN wide w ON f.w = w.w AND w.grp = 3"

  /** The name of a view on so many copies of a file. */
  private def table(spark: SparkSession, folder: Path, part: Path, name: String, files: Int): String = {
    FarTable.view(spark, folder, part, name, files)
    name
  }

  /** Milliseconds from the query's text to its plan. */
  private def planned(spark: SparkSession, fact: String, more: String): Double = {
    val start = System.nanoTime()
    spark
      .sql(
        s"SELECT f.id FROM $fact f JOIN dim d ON f.k = d.k$more WHERE d.grp = 1 AND f.n = 'n3' AND f.m LIKE 'm%'"
      )
      .queryExecution
      .executedPlan: Unit
    (System.nanoTime() - start) / 1e6
  }

  private def cells(
      spark: SparkSession,
      folder: Path,
      part: Path,
      files: Int,
      more: String = ""
  ): Seq[String] = {
    val times = (0 until rounds).map { i =>
      val fact = table(spark, folder, part, s"fact${files}_${i}_${more.length}", files)
      spark.conf.set(SpringbokConf.ENABLED.key, "false")
      planned(spark, fact, more): Unit
      val off = planned(spark, fact, more)
      spark.conf.set(SpringbokConf.ENABLED.key, "true")
      FarFileSystem.reset()
      val first = planned(spark, fact, more)
      val opened = FarFileSystem.opens
      val later = planned(spark, fact, more)
      (off, first, later, opened, FarFileSystem.opens - opened)
    }
    def median(of: ((Double, Double, Double, Long, Long)) => Double) = times.map(of).sorted.apply(rounds / 2)
    val (off, first, later) = (median(_._1), median(_._2), median(_._3))
    val label = f"$files%,d" + (if (more.isEmpty) "" else ", with two more keys")
    val ms = Seq(off, first, later, first - off, later - off).map(ms => f"$ms%.0f")
    (label +: ms) ++ Seq(times.map(_._4).max, times.map(_._5).max).map(_.toString)
  }
}
