package org.apache.spark.sql.springbok.stats.history

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

import com.google.common.io.ByteStreams
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFileSystem, FileStatus, FileSystem, Path, StreamCapabilities}
import org.apache.hadoop.fs.permission.{FsAction, FsPermission}
import org.apache.spark.internal.Logging

/**
 * A folder in which applications share what they have learned. Each application writes files of its own and never changes
 * one: a file is written under a hidden name and then renamed, so nobody reads half of it, and two applications never write
 * to the same file. What has been learned later counts.
 *
 * Files of others are not trusted: they are bounded in size and read as data, and what cannot be read is left out with one
 * warning. Names cannot be foreseen and no file is overwritten, so nobody can lay a link where a file will be made. The folder
 * decides who may read and write: files get its permissions, and one that is made is for its owner only.
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

  private lazy val fs: FileSystem = folder.getFileSystem(hadoop) match {
    // Lines have checksums of their own. Those of whole files would lose all lines of a file that was cut off.
    case local: ChecksumFileSystem => local.getRawFileSystem
    case other => other
  }
  private val mine = mutable.ArrayBuffer.empty[Path]
  private var warned = false

  /** All entries, the latest of each key. */
  def load(nowMs: Long): Seq[LearnedEntry] = {
    val all = files(nowMs).sortBy(-_.getModificationTime)
    val contents = within(all).map(read(_, nowMs))
    val entries = latest(contents)
    val (known, unread) = (contents.filter(_.whole).map(_.file), all.drop(contents.size))
    // What was not read to its end stays where it is.
    val old = if (bytes(known ++ unread) > maxBytes) known ++ unread else known
    if (old.size > maxFiles || bytes(old) > maxBytes) compact(old.map(_.getPath), entries)
    entries
  }

  /** Adds a file with these entries. Many small files of this application become one. */
  def add(entries: Seq[LearnedEntry], nowMs: Long): Unit = {
    mine += write(entries)
    if (mine.size > maxOwnFiles) {
      val contents = mine.toList.flatMap(status).map(read(_, nowMs)).filter(_.whole)
      val made = replace(contents.map(_.file.getPath), latest(contents))
      mine.clear()
      mine ++= made
    }
  }

  /** The newest files that fit. */
  private def within(newest: Seq[FileStatus]): Seq[FileStatus] =
    newest.zip(newest.scanLeft(0L)(_ + _.getLen).tail).takeWhile(_._2 <= maxBytes).map(_._1)

  /** Neither pipes and devices, which have no length, nor what is too large to be read at all. */
  private def files(nowMs: Long): Seq[FileStatus] =
    if (!fs.exists(folder)) Nil
    else {
      val all = fs.listStatus(folder).toSeq.filter(_.isFile)
      removeAbandoned(all, nowMs)
      val (fit, large) =
        all.filter(f => f.getPath.getName.matches(pattern) && f.getLen > 0).partition(_.getLen <= maxBytes)
      if (large.nonEmpty) warn(s"${large.size} files are larger than $maxBytes bytes")
      fit
    }

  /** Hidden files of writers that have died. */
  private def removeAbandoned(all: Seq[FileStatus], nowMs: Long): Unit =
    for (f <- all if f.getPath.getName.matches(hiddenPattern) && f.getModificationTime < nowMs - abandonedMs)
      Try(fs.delete(f.getPath, false)): Unit

  private def bytes(files: Seq[FileStatus]): Long = files.map(_.getLen).sum

  private def status(p: Path): Option[FileStatus] = Try(fs.getFileStatus(p)).toOption

  private def read(f: FileStatus, nowMs: Long): Content = {
    val good = mutable.ArrayBuffer.empty[LearnedEntry]
    var bad = 0
    try {
      val in = fs.open(f.getPath)
      try
        new BoundedLines(ByteStreams.limit(in, f.getLen), HistoryLine.maxLength).foreach { line =>
          HistoryLine.read(line, nowMs) match {
            case Some(e) => good += e
            case None => bad += 1
          }
        }
      finally in.close()
      if (bad > 0) warn(s"$bad lines of ${f.getPath.getName} are no entries of this version")
      Content(f, good.toList, bad == 0)
    } catch {
      // Another application has put it together with others.
      case _: FileNotFoundException => Content(f, Nil, whole = false)
      case NonFatal(e) =>
        warn(s"${f.getPath.getName} cannot be read: ${e.getClass.getName}")
        Content(f, good.toList, whole = false)
    }
  }

  private def latest(contents: Seq[Content]): Seq[LearnedEntry] =
    contents
      .flatMap(_.entries)
      .groupBy(e => (e.getClass, e.key))
      .values
      .map(_.maxBy(_.lastMs))
      .toSeq
      .sortBy(-_.lastMs)
      .take(maxEntries)

  private def compact(old: Seq[Path], entries: Seq[LearnedEntry]): Unit =
    try replace(old, entries): Unit
    catch { case NonFatal(e) => warn(s"its files cannot be put together: ${e.getClass.getName}") }

  /**
   * The new file is there before the old ones go: what is there twice is no harm. It goes itself where the folder lets nobody
   * delete the files of others.
   */
  private def replace(old: Seq[Path], entries: Seq[LearnedEntry]): Option[Path] = {
    val made = write(entries, durable = true)
    val gone = old.count(p => Try(fs.delete(p, false)).getOrElse(false))
    if (gone > 0) Some(made)
    else {
      fs.delete(made, false): Unit
      None
    }
  }

  /** @param durable whether the file is on the disk before this ends */
  private def write(entries: Seq[LearnedEntry], durable: Boolean = false): Path = {
    prepare()
    val name = UUID.randomUUID().toString
    val file = new Path(folder, s"history-$name.jsonl")
    val hidden = new Path(folder, s".history-$name.tmp")
    try {
      val out = fs.create(hidden, false)
      try {
        entries.foreach(e => out.write((HistoryLine.write(e) + "\n").getBytes(UTF_8)))
        if (durable && out.hasCapability(StreamCapabilities.HSYNC)) out.hsync()
      } finally out.close()
      fs.setPermission(hidden, permission())
      if (!fs.rename(hidden, file)) throw new IOException(s"${file.getName} could not be made")
      file
    } catch {
      case e: Throwable =>
        Try(fs.delete(hidden, false)): Unit
        throw e
    }
  }

  private def prepare(): Unit = if (!fs.exists(folder))
    fs.mkdirs(folder, new FsPermission(FsAction.ALL, FsAction.NONE, FsAction.NONE)): Unit

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
        "The shared history is used in part: it has lines that are no entries of this version, or files that are too large, or cannot be read or put together. This is logged once."
      )
    warned = true
    logDebug(details)
  }
}

private[history] object HistoryFolder {
  private val pattern = "history-[0-9a-f-]{1,40}\\.jsonl"
  private val hiddenPattern = "\\.history-[0-9a-f-]{1,40}\\.tmp"

  /** Files of one application, and of all, that are left as they are. */
  private val (maxOwnFiles, maxFiles) = (16, 64)

  /** A file is written in much less time, in ms. */
  private val abandonedMs = 24L * 3600 * 1000

  /**
   * What was read of a file.
   *
   * @param whole
   *   whether these entries are all that it holds
   */
  final private case class Content(file: FileStatus, entries: Seq[LearnedEntry], whole: Boolean)
}
