package org.apache.spark.sql.springbok.catalyst

/**
 * Matches a failure of a thread that is to stop, such as the thread of a cancelled query. Such a failure says nothing about
 * the data that the thread was reading. It is recognized by the thread's interrupt flag or by the exception's own type, and
 * the flag is set again. Causes are not examined: queries share connections, and the interrupt of one query may close a
 * connection that others use.
 */
object Interrupted {
  def unapply(e: Throwable): Boolean = {
    val found = Thread.currentThread().isInterrupted || e.isInstanceOf[InterruptedException]
    if (found) Thread.currentThread().interrupt()
    found
  }
}
