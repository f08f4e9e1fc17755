package org.apache.spark.sql.springbok.stats.source

import java.security.PrivilegedAction
import java.util.concurrent.{Callable, ExecutionException, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.StatsConf
import org.apache.spark.util.ThreadUtils

/** Reads of several files: at the same time if they are in a remote store, where each takes round trips and may hang. */
private[source] object RemoteReads {
  private val threads = 16

  /** Time that reads may take beyond the one in which they are to begin: planning waits for them. */
  private val graceMs = 10000L

  /**
   * What `read` gives for each part of a file, None for what takes too long. No thread is started if it has to open one file
   * at most.
   *
   * @param late
   *   told of each part that takes too long
   */
  def of[A, B](parts: Seq[A], file: A => TableFile, known: A => Boolean, late: A => Unit)(
      read: A => Option[B]
  ): Seq[Option[B]] =
    if (parts.count(p => remote(file(p)) && !known(p)) > 1) inParallel(parts, late)(read) else parts.map(read)

  /** As the caller's user. */
  private def inParallel[A, B](parts: Seq[A], late: A => Unit)(read: A => Option[B]): Seq[Option[B]] = {
    val mostMs = SQLConf.get.getConf(StatsConf.FOOTERS_MAX_MS) + graceMs
    val user = UserGroupInformation.getCurrentUser
    val pool = ThreadUtils.newDaemonFixedThreadPool(math.min(threads, parts.size), "springbok-statistics")
    def task(p: A): Callable[Option[B]] = () => user.doAs((() => read(p)): PrivilegedAction[Option[B]])
    try
      pool
        .invokeAll(parts.map(task).asJava, mostMs, TimeUnit.MILLISECONDS)
        .asScala
        .toSeq
        .zip(parts)
        .map {
          case (f, p) if f.isCancelled =>
            late(p)
            None
          case (f, _) => f.get()
        }
    catch { case e: ExecutionException => throw e.getCause }
    finally pool.shutdownNow(): Unit
  }

  private def remote(file: TableFile): Boolean = Option(file.path.toUri.getScheme).exists(_ != "file")
}
