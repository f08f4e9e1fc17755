package org.apache.spark.sql.springbok.catalyst

import scala.util.control.NonFatal

/**
 * Failures after which planning can go on without what has failed. A Spark of another version causes a LinkageError. A deep
 * plan may overflow the stack.
 */
object Survivable {
  def apply(e: Throwable): Boolean = e match {
    case NonFatal(_) | _: LinkageError | _: StackOverflowError => true
    case _ => false
  }
}
