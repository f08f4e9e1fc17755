package org.apache.spark.sql.springbok

import java.io.InterruptedIOException
import java.nio.channels.ClosedByInterruptException

/**
 * A failure of a thread that is to stop, as a cancelled query's is: no property of what the thread was reading. Whoever
 * was told with the exception alone, without the thread's flag, is told with the flag too.
 */
object Interrupted {
  private val maxCauses = 20

  def unapply(e: Throwable): Boolean = {
    val thread = Thread.currentThread()
    val found = thread.isInterrupted ||
      Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(maxCauses).exists(interrupt)
    if (found) thread.interrupt()
    found
  }

  private def interrupt(e: Throwable): Boolean = e match {
    case _: InterruptedException | _: ClosedByInterruptException => true
    // Its subclasses are time limits of a connection, and so is what OkHttp says by this message.
    case io: InterruptedIOException =>
      io.getClass == classOf[InterruptedIOException] && io.getMessage != "timeout"
    case _ => false
  }
}
