package org.apache.spark.sql.springbok.stats.history

import java.io.{BufferedReader, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.fs.permission.{FsAction, FsPermission}
import org.apache.spark.internal.Logging

/**
 * A folder in which applications share what they have learned. Each application writes files of its own and never changes
 * one: a file is written under a hidden name and then renamed, so nobody reads half of it, and two applications never write
 * to the same file. What has been learned later counts.
 *
 * Files of others are not trusted: they are bounded in size and read as data, and what cannot be read is left out with one
 * warning. The folder decides who may read and write: files get its permissions, and one that is made is for its owner only.
 *
 * Every method may be slow and may fail. They are called on a thread on which no query waits.
 *
 * @param maxBytes
 *   bytes of all files that are read or kept
 * @param maxEntries
 *   entries that are kept
 */
final private[history] class HistoryFolder(
    folder: Path,
    hadoop: Configuration,
    maxBytes: Long,
    maxEntries: Int
) extends Logging {
  import HistoryFolder._

  private lazy val fs: FileSystem = folder.getFileSystem(hadoop)
  private val name = UUID.randomUUID().toString.take(13)
  private val mine = mutable.ArrayBuffer.empty[Path]
  private var written = 0
  private var warned = false

  /** All entries, the latest of each key. */
  def load(nowMs: Long): Seq[LearnedEntry] = {
    val all = files()
    val entries = latest(read(within(all), nowMs))
    if (all.size > maxFiles || all.map(_.getLen).sum > maxBytes) compact(all.map(_.getPath), entries)
    entries
  }

  /** Adds a file with these entries. Many small files of this application become one. */
  def add(entries: Seq[LearnedEntry], nowMs: Long): Unit = {
    mine += write(entries)
    if (mine.size > maxOwnFiles) {
      val old = mine.toList
      val kept = latest(read(old.flatMap(status), nowMs))
      mine.clear()
      mine += replace(old, kept)
    }
  }

  /** The newest files that fit. */
  private def within(all: Seq[FileStatus]): Seq[FileStatus] = {
    val newest = all.sortBy(-_.getModificationTime)
    newest.zip(newest.scanLeft(0L)(_ + _.getLen).tail).takeWhile(_._2 <= maxBytes).map(_._1)
  }

  private def files(): Seq[FileStatus] =
    if (!fs.exists(folder)) Nil
    else fs.listStatus(folder).toSeq.filter(f => f.isFile && f.getPath.getName.matches(pattern))

  private def status(p: Path): Option[FileStatus] = if (fs.exists(p)) Some(fs.getFileStatus(p)) else None

  private def read(files: Seq[FileStatus], nowMs: Long): Seq[LearnedEntry] = files.flatMap { f =>
    try {
      val (good, bad) = lines(f.getPath).map(HistoryLine.read(_, nowMs)).partition(_.isDefined)
      if (bad.nonEmpty) warn(s"${bad.size} lines of ${f.getPath.getName} are no entries of this version")
      good.flatten
    } catch {
      // Another application has put it together with others.
      case _: java.io.FileNotFoundException => Nil
      case NonFatal(e) =>
        warn(s"${f.getPath.getName} cannot be read: ${e.getClass.getName}")
        Nil
    }
  }

  private def lines(p: Path): Seq[String] = {
    val in = new BufferedReader(new InputStreamReader(fs.open(p), UTF_8))
    try Iterator.continually(in.readLine()).takeWhile(_ != null).toList
    finally in.close()
  }

  private def latest(all: Seq[LearnedEntry]): Seq[LearnedEntry] =
    all
      .groupBy(e => (e.getClass, e.key))
      .values
      .map(_.maxBy(_.lastMs))
      .toSeq
      .sortBy(-_.lastMs)
      .take(maxEntries)

  private def compact(old: Seq[Path], entries: Seq[LearnedEntry]): Unit =
    try replace(old.filterNot(mine.contains), entries): Unit
    catch { case NonFatal(e) => warn(s"its files cannot be put together: ${e.getClass.getName}") }

  /** The new file is there before the old ones go: what is there twice is no harm. */
  private def replace(old: Seq[Path], entries: Seq[LearnedEntry]): Path = {
    val made = write(entries)
    old.foreach(p => fs.delete(p, false))
    made
  }

  private def write(entries: Seq[LearnedEntry]): Path = {
    prepare()
    val file = new Path(folder, s"history-$name-$written.jsonl")
    val hidden = new Path(folder, s".history-$name-$written.tmp")
    written += 1
    try {
      val out = fs.create(hidden, true)
      try entries.foreach(e => out.write((HistoryLine.write(e) + "\n").getBytes(UTF_8)))
      finally out.close()
      fs.setPermission(hidden, permission())
      if (!fs.rename(hidden, file)) throw new java.io.IOException(s"${file.getName} could not be made")
      file
    } catch {
      case e: Throwable =>
        try fs.delete(hidden, false): Unit
        catch { case NonFatal(_) => }
        throw e
    }
  }

  private def prepare(): Unit = if (!fs.exists(folder)) {
    fs.mkdirs(folder): Unit
    fs.setPermission(folder, new FsPermission(FsAction.ALL, FsAction.NONE, FsAction.NONE))
  }

  /** That of the folder, and nobody executes it. */
  private def permission(): FsPermission = {
    val p = fs.getFileStatus(folder).getPermission
    def file(a: FsAction) = a.and(FsAction.READ_WRITE)
    new FsPermission(file(p.getUserAction), file(p.getGroupAction), file(p.getOtherAction))
  }

  /** Neither paths nor texts of the files: these are others'. */
  private def warn(details: String): Unit = {
    if (!warned)
      logWarning(
        "The shared history is used in part: it has lines that are no entries of this version, or files that cannot be read or put together. This is logged once."
      )
    warned = true
    logDebug(details)
  }
}

private[history] object HistoryFolder {
  private val pattern = "history-[0-9a-f-]{1,40}\\.jsonl"

  /** Files of one application, and of all, that are left as they are. */
  private val (maxOwnFiles, maxFiles) = (16, 64)
}
