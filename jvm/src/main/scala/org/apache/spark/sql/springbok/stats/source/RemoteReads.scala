package org.apache.spark.sql.springbok.stats.source

import java.security.PrivilegedAction
import java.util.concurrent.{Callable, ExecutionException}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.util.ThreadUtils

/** Reads of several files: at the same time if they are in a remote store, where each takes round trips. */
private[source] object RemoteReads {
  private val threads = 16

  /** What `read` gives for each part of a file. No thread is started if it has to open one file at most. */
  def of[A, B](parts: Seq[A], file: A => TableFile, known: A => Boolean)(read: A => B): Seq[B] =
    if (parts.count(p => remote(file(p)) && !known(p)) > 1) inParallel(parts)(read) else parts.map(read)

  /** As the caller's user. */
  private def inParallel[A, B](parts: Seq[A])(read: A => B): Seq[B] = {
    val user = UserGroupInformation.getCurrentUser
    val pool = ThreadUtils.newDaemonFixedThreadPool(math.min(threads, parts.size), "springbok-statistics")
    def task(p: A): Callable[B] = () => user.doAs((() => read(p)): PrivilegedAction[B])
    try pool.invokeAll(parts.map(task).asJava).asScala.map(_.get()).toSeq
    catch { case e: ExecutionException => throw e.getCause }
    finally pool.shutdownNow(): Unit
  }

  private def remote(file: TableFile): Boolean = Option(file.path.toUri.getScheme).exists(_ != "file")
}
