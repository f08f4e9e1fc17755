package org.apache.spark.sql.springbok.stats.history

import java.io.{FilterOutputStream, IOException}
import java.util.concurrent.CountDownLatch

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream, Path, RawLocalFileSystem}
import org.apache.hadoop.util.Progressable

/** The local file system with faults. */
class FaultyFileSystem extends RawLocalFileSystem {
  import FaultyFileSystem._

  override def open(f: Path, bufferSize: Int): FSDataInputStream = {
    faults.hang.foreach(_.await())
    if (faults.unreadable(f.getName)) throw new IOException("Input/output error")
    super.open(f, bufferSize)
  }

  override def create(
      f: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = {
    faults.hang.foreach(_.await())
    val file = super.create(f, overwrite, bufferSize, replication, blockSize, progress)
    new FSDataOutputStream(new Limited(file), null)
  }

  override def delete(p: Path, recursive: Boolean): Boolean =
    !faults.undeletable(p.getName) && super.delete(p, recursive)
}

object FaultyFileSystem {

  /**
   * @param space
   *   bytes that can still be written
   * @param hang
   *   until when files are neither opened nor made
   */
  final case class Faults(
      space: Long = Long.MaxValue,
      unreadable: String => Boolean = _ => false,
      undeletable: String => Boolean = _ => false,
      hang: Option[CountDownLatch] = None
  )

  @volatile private var faults = Faults()

  /** With these faults for the time of a block. */
  def having[T](f: Faults)(body: => T): T = {
    faults = f
    try body
    finally faults = Faults()
  }

  def configuration: Configuration = {
    val c = new Configuration(false)
    c.set("fs.file.impl", classOf[FaultyFileSystem].getName)
    c.setBoolean("fs.file.impl.disable.cache", true)
    c
  }

  /** A disk that gets full. Some of what does not fit is written. */
  final private class Limited(file: FSDataOutputStream) extends FilterOutputStream(file) {
    override def write(b: Int): Unit = write(Array(b.toByte), 0, 1)

    override def write(bytes: Array[Byte], from: Int, n: Int): Unit = {
      val fits = math.min(faults.space, n.toLong).toInt
      faults = faults.copy(space = faults.space - fits)
      file.write(bytes, from, fits)
      if (fits < n) throw new IOException("No space left on device")
    }
  }
}
