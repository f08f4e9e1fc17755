package org.apache.spark.sql.springbok.stats.history

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** An application of its own that writes to a shared history: a test kills it while it does. */
object HistoryWriter {
  val perFile = 400

  /** The entries of one file, of an application with this number. */
  def batch(application: Long, n: Long): Seq[LearnedEntry] = (0 until perFile).map { i =>
    val rows = LearnedRows(n, Nil, 1, System.currentTimeMillis() - 1)
    LearnedEntry.OfRows(Digest(application, n * perFile + i), rows, Some("Filter of t"))
  }

  /** Writes files, and prints the number of each file once it is there. */
  def main(args: Array[String]): Unit = {
    val (application, files) = (args(1).toLong, args(2).toLong)
    val to = new HistoryFolder(new Path(args(0)), new Configuration(false), 64L << 20, 1000000)
    for (n <- 1L to files) {
      to.add(batch(application, n), System.currentTimeMillis())
      println(n)
    }
  }

  /** Starts it. */
  def start(folder: Path, application: Long, files: Long): Process = {
    val java = s"${System.getProperty("java.home")}/bin/java"
    val command = Seq(
      java,
      "-Xmx256m",
      "-cp",
      System.getProperty("java.class.path"),
      getClass.getName.stripSuffix("$"),
      folder.toString,
      application.toString,
      files.toString
    )
    new ProcessBuilder(command: _*).redirectError(ProcessBuilder.Redirect.DISCARD).start()
  }

  /** The last number that it has printed in a line of its own. */
  def last(out: String): Long =
    out.split('\n').flatMap(s => Try(s.trim.toLong).toOption).lastOption.getOrElse(0L)
}
