package org.apache.spark.sql.springbok.catalyst

/**
 * A failure of a thread that is to stop, as a cancelled query's is: no property of what the thread was reading. It is known
 * by the thread's flag, or by being the interrupt itself, and then sets the flag again. Causes say nothing: queries share
 * connections, and what another one's interrupt has closed fails all of them.
 */
object Interrupted {
  def unapply(e: Throwable): Boolean = {
    val found = Thread.currentThread().isInterrupted || e.isInstanceOf[InterruptedException]
    if (found) Thread.currentThread().interrupt()
    found
  }
}
