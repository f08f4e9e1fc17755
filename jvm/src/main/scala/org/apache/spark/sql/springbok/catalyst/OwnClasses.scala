package org.apache.spark.sql.springbok.catalyst

import scala.util.control.NonFatal

import org.apache.spark.util.Utils

/**
 * Whether Spark finds Springbok's classes by their names: the cost evaluator, and what generated code calls. It looks for
 * them with the class loader of the thread that plans and runs the query. Those of a pool have the system's, which knows
 * no jar of `--jars`; Spark alone gets by with it.
 */
private[springbok] object OwnClasses {
  private val own = getClass.getClassLoader

  /** Whether this thread finds them; where Springbok's loader only adds to the thread's, it becomes the thread's. */
  def found(): Boolean = {
    val present = Utils.getContextOrSparkClassLoader
    val adds =
      (present ne own) && Iterator.iterate(own)(_.getParent).takeWhile(_ != null).exists(_ eq present)
    if (adds) Thread.currentThread.setContextClassLoader(own)
    adds || loads(present)
  }

  private def loads(by: ClassLoader): Boolean =
    try by.loadClass(getClass.getName) eq getClass
    // Also what a loader says that is closed, or of a web application that has stopped.
    catch { case NonFatal(_) | _: LinkageError => false }
}
