package org.apache.spark.sql.springbok.keys.kept

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.datasources.{FileIndex, InMemoryFileIndex}

/** The files that a query reads of a table, without partitions. */
sealed private[sql] trait FileListing {

  /** The folders of the table. */
  def roots: Set[Path]

  /** The files that the query reads if it starts now: `REFRESH` may change them. None if they are too many. */
  def files: Option[Set[FileState]]

  /** Listed files as the storage has them now; None if one of them has changed. */
  def current(files: Set[FileState], conf: Configuration): Option[Set[FileState]]

  /** Whether listed files were left alone for a while before this time, in ms since 1970. */
  def settled(files: Set[FileState], sinceMs: Long): Boolean
}

private[sql] object FileListing {

  /** Tables of more files are no small dimensions. */
  private val mostFiles = 256

  /** None for a table that is listed in another way. */
  def of(index: FileIndex): Option[FileListing] = index match {
    case i: InMemoryFileIndex if i.getClass == classOf[InMemoryFileIndex] => Some(new Listed(i))
    case p: Product if p.productPrefix == "PreparedDeltaFileIndex" =>
      p.productIterator.collectFirst { case s: Product if s.productPrefix == "DeltaScan" => s }.flatMap {
        scan =>
          scan.productIterator.collectFirst { case adds: Seq[?] =>
            new DeltaFiles(index.rootPaths.toSet, adds)
          }
      }
    case _ => None
  }

  /** Files that Spark has found in the table's folders. */
  final private class Listed(index: InMemoryFileIndex) extends FileListing {
    override def roots: Set[Path] = index.rootPaths.toSet

    override def files: Option[Set[FileState]] = {
      val all = index.allFiles()
      Option.when(all.size <= mostFiles)(all.map(FileState.listed).toSet)
    }

    override def current(files: Set[FileState], conf: Configuration): Option[Set[FileState]] =
      FileState.current(files, conf)

    override def settled(files: Set[FileState], sinceMs: Long): Boolean =
      files.forall(_.changedMs < sinceMs - FileState.settledMs)
  }

  /**
   * Files that the log of a Delta table names. They never change; what is deleted of one is in its entry, which is compared
   * as a whole. Delta is no dependency: its classes are read as products, `AddFile(path, partitionValues, size,
   * modificationTime, dataChange, stats, tags, deletionVector, ...)`.
   */
  final private class DeltaFiles(override val roots: Set[Path], adds: Seq[?]) extends FileListing {
    override lazy val files: Option[Set[FileState]] = {
      val found =
        if (adds.size <= mostFiles) adds.collect { case add: Product => state(add) }.flatten else Nil
      Option.when(found.size == adds.size)(found.toSet)
    }

    private def state(add: Product): Option[FileState] =
      if (add.productPrefix != "AddFile" || add.productArity < 8) None
      else
        (add.productElement(0), add.productElement(2), add.productElement(3)) match {
          case (path: String, bytes: Long, changedMs: Long) =>
            Some(
              FileState(new Path(roots.head, path), bytes, changedMs, Some(add.productIterator.mkString(",")))
            )
          case _ => None
        }

    override def current(files: Set[FileState], conf: Configuration): Option[Set[FileState]] = Some(files)

    override def settled(files: Set[FileState], sinceMs: Long): Boolean = true
  }
}
