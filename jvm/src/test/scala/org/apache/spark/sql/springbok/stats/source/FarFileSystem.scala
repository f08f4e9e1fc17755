package org.apache.spark.sql.springbok.stats.source

import java.io.InputStream
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import org.apache.hadoop.fs._

/**
 * The machine's files as if they lay in an object store: opening, listing and reading take time. It counts what is asked for.
 * The latencies are settings of Hadoop, in ms and in bytes a second.
 */
class FarFileSystem extends RawLocalFileSystem {
  import FarFileSystem._

  override def getUri: java.net.URI = java.net.URI.create("far:///")
  override def getScheme: String = "far"

  private def waitFor(key: String, ms: Long): Unit = Thread.sleep(getConf.getLong(key, ms))

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    waitFor("fs.far.openMs", 30)
    opened.computeIfAbsent(path.getName, _ => new AtomicLong).incrementAndGet(): Unit
    new FSDataInputStream(
      new Counted(super.open(path, bufferSize), getConf.getLong("fs.far.bytesPerSecond", 80000000L))
    )
  }

  override def listStatus(path: Path): Array[FileStatus] = {
    waitFor("fs.far.listMs", 50)
    super.listStatus(path)
  }
}

object FarFileSystem {

  /** How often each file was opened, by its name. */
  val opened = new ConcurrentHashMap[String, AtomicLong]()

  /** Reads that do not go on where the last one of their stream ended: each is a request to a store. */
  val requests = new AtomicLong
  val bytes = new AtomicLong

  def opens: Long = opened.values.stream.mapToLong(_.get).sum

  def reset(): Unit = {
    opened.clear()
    requests.set(0)
    bytes.set(0)
  }

  final private class Counted(in: FSDataInputStream, bytesPerSecond: Long)
      extends InputStream
      with Seekable
      with PositionedReadable {
    private var next = -1L
    private var owedNs = 0L

    private def counted(at: Long, read: Int): Int = {
      if (at != next) requests.incrementAndGet(): Unit
      if (read > 0) {
        bytes.addAndGet(read.toLong)
        next = at + read
        owedNs += read * 1000000000L / bytesPerSecond
        // A sleep takes whole milliseconds: many small reads would take a millisecond each.
        if (owedNs >= 1000000) {
          Thread.sleep(owedNs / 1000000)
          owedNs %= 1000000
        }
      }
      read
    }

    override def read(): Int = {
      val at = in.getPos
      val b = in.read()
      counted(at, if (b < 0) 0 else 1): Unit
      b
    }
    override def read(b: Array[Byte], off: Int, len: Int): Int = {
      val at = in.getPos
      counted(at, in.read(b, off, len))
    }
    override def read(at: Long, b: Array[Byte], off: Int, len: Int): Int =
      counted(at, in.read(at, b, off, len))
    override def readFully(at: Long, b: Array[Byte], off: Int, len: Int): Unit = {
      in.readFully(at, b, off, len)
      counted(at, len): Unit
    }
    override def readFully(at: Long, b: Array[Byte]): Unit = readFully(at, b, 0, b.length)
    override def seek(at: Long): Unit = in.seek(at)
    override def getPos: Long = in.getPos
    override def seekToNewSource(at: Long): Boolean = false
    override def close(): Unit = in.close()
  }
}
