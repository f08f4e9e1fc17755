package org.apache.spark.sql.springbok.stats.source

import java.security.PrivilegedAction
import java.util.concurrent.{Callable, ExecutionException}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.util.ThreadUtils

/** Reads of several files: at the same time if they are in a remote store, where each takes round trips. */
private[source] object RemoteReads {
  private val threads = 16

  /** What `read` gives for each file. No thread is started if it has to open one file at most. */
  def of[B](files: Seq[TableFile], known: TableFile => Boolean)(read: TableFile => B): Seq[B] =
    if (files.count(f => remote(f) && !known(f)) > 1) inParallel(files)(read) else files.map(read)

  /** As the caller's user. */
  private def inParallel[B](files: Seq[TableFile])(read: TableFile => B): Seq[B] = {
    val user = UserGroupInformation.getCurrentUser
    val pool = ThreadUtils.newDaemonFixedThreadPool(math.min(threads, files.size), "springbok-statistics")
    def task(f: TableFile): Callable[B] = () => user.doAs((() => read(f)): PrivilegedAction[B])
    try pool.invokeAll(files.map(task).asJava).asScala.map(_.get()).toSeq
    catch { case e: ExecutionException => throw e.getCause }
    finally pool.shutdownNow(): Unit
  }

  private def remote(file: TableFile): Boolean = Option(file.path.toUri.getScheme).exists(_ != "file")
}
