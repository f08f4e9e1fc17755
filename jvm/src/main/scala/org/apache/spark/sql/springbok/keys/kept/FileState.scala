package org.apache.spark.sql.springbok.keys.kept

import java.io.FileNotFoundException
import java.nio.file.{Files, Paths}

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{EtagSource, FileStatus, Path}
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus

/**
 * A file at one time. Equal states are taken for equal bytes: whoever changes a file changes the time of its last change. The
 * tag tells the files apart if that time is set back: S3's and Azure's ETag, the number of a file in HDFS, the inode of a local
 * file and the time of its change.
 *
 * @param bytes
 *   its length
 * @param changedMs
 *   when it was changed last, in ms since 1970
 * @param tag
 *   what the storage calls this file or this version of it, if it tells. Listings of queries have none
 */
final private[sql] case class FileState(
    path: Path,
    bytes: Long,
    changedMs: Long,
    tag: Option[String] = None
)

private[sql] object FileState {

  /**
   * The time in ms that a file must have been left alone before a query that reads it is planned. A change that follows it
   * then has another time, even if the storage counts seconds or its clock is late.
   */
  val settledMs = 10000L

  private val fewFiles = 4

  /** A file as Spark has listed it. */
  def listed(s: FileStatus): FileState = of(s, None)

  /** The files of a listing as the storage has them now; None if one of them is not as it was listed. */
  def current(listed: Set[FileState], conf: Configuration): Option[Set[FileState]] =
    try {
      val now = listed.groupBy(_.path.getParent).values.toSeq.flatMap(inFolder(_, conf)).toSet
      Option.when(now.map(_.copy(tag = None)) == listed)(now)
    } catch { case _: FileNotFoundException => None }

  /** One request for each file if there are few of them. A folder may have many other files. */
  private def inFolder(files: Set[FileState], conf: Configuration): Seq[FileState] = {
    val (paths, folder) = (files.map(_.path), files.head.path.getParent)
    val fs = folder.getFileSystem(conf)
    val found =
      if (paths.size <= fewFiles) paths.toSeq.map(fs.getFileStatus)
      else fs.listStatus(folder).toSeq.filter(s => paths.contains(s.getPath))
    found.map(s => of(s, tag(s)))
  }

  private def of(s: FileStatus, tag: Option[String]): FileState =
    FileState(s.getPath, s.getLen, s.getModificationTime, tag)

  private def tag(s: FileStatus): Option[String] = s match {
    case e: EtagSource => Option(e.getEtag)
    case h: HdfsFileStatus => Some(h.getFileId.toString)
    case _ if s.getPath.toUri.getScheme == "file" => localTag(s.getPath)
    case _ => None
  }

  /** A local file's time of change can be set, but not that of its inode. */
  private def localTag(path: Path): Option[String] = Try {
    val found = Files.readAttributes(Paths.get(path.toUri), "unix:ino,ctime")
    s"${found.get("ino")} ${found.get("ctime")}"
  }.toOption
}
