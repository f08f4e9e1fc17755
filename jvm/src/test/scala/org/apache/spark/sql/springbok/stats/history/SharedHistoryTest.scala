package org.apache.spark.sql.springbok.stats.history

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.scalatest.funsuite.AnyFunSuite

/** Histories that share a folder. Each `History` stands for one application. */
abstract class SharedHistoryTest extends AnyFunSuite {
  protected val inputs = Seq(InputFingerprint(2, 1024, Digest.text("files")))
  protected val now = System.currentTimeMillis()

  protected def folder(): Path = Files.createTempDirectory("history").resolve("shared")

  protected def files(at: Path): Seq[Path] =
    if (!Files.exists(at)) Nil
    else Files.list(at).iterator.asScala.toList.filter(_.getFileName.toString.startsWith("history-"))

  protected def at(p: Path, maxBytes: Long = 1 << 20, maxEntries: Int = 1000): HistoryFolder =
    new HistoryFolder(new HadoopPath(p.toUri), new Configuration(false), maxBytes, maxEntries)

  protected def application(p: Path): History = {
    val h = new History(Some(at(p)))
    h.flush(20000)
    h
  }

  protected def entry(key: Long, rows: Long, lastMs: Long = now - 1000): LearnedEntry.OfRows =
    LearnedEntry.OfRows(Digest(0, key), LearnedRows(rows, inputs, 1, lastMs), Some("Filter of t"))

  protected def learn(h: History, key: Long, rows: Long): Unit = {
    val learned = h.learn(Digest(0, key), LearnedRows(rows, inputs, 1, now), 1000)
    h.share(Seq(LearnedEntry.OfRows(Digest(0, key), learned, None)))
    h.flush(20000)
  }
}
