package org.apache.spark.sql.springbok.rules.guard

import java.nio.charset.StandardCharsets.UTF_8

import scala.io.Source
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic.SparkSession

/**
 * The fingerprints in a file, one in a line; a `#` begins a comment. The file is looked at again after 10 s. If it cannot be read,
 * those read last stay, and the log warns.
 */
final private[guard] class ExcludedFile(session: SparkSession) extends Logging {
  import ExcludedFile._

  private var last = Content("", Long.MinValue, 0, Set.empty)

  def of(path: String): Set[String] = synchronized {
    val now = System.nanoTime() / 1000000
    if (path != last.path || now - last.readMs > ageMs) last = read(path, now)
    last.fingerprints
  }

  private def read(path: String, now: Long): Content = {
    val known = if (path == last.path) last else Content(path, now, -1, Set.empty)
    try {
      val file = new Path(path)
      val fs = file.getFileSystem(session.sessionState.newHadoopConf())
      val modified = fs.getFileStatus(file).getModificationTime
      if (modified == known.modified) known.copy(readMs = now)
      else {
        val in = fs.open(file)
        try Content(path, now, modified, fingerprints(Source.fromInputStream(in, UTF_8.name)))
        finally in.close()
      }
    } catch {
      case NonFatal(e) =>
        logWarning(
          s"spark.springbok.guard.excludeFile cannot be read (${e.getClass.getName}); it is tried again."
        )
        known.copy(readMs = now)
    }
  }
}

private object ExcludedFile {
  private val ageMs = 10000L

  /** @param readMs when the file was looked at, by a clock of its own */
  final private case class Content(path: String, readMs: Long, modified: Long, fingerprints: Set[String])

  private def fingerprints(source: Source): Set[String] =
    source.getLines().map(_.takeWhile(_ != '#').trim).filter(_.nonEmpty).toSet
}
