package org.apache.spark.sql.springbok.catalyst

import scala.util.control.NonFatal

import org.apache.spark.util.Utils

/**
 * Lets Spark find Springbok's classes by their names: the cost evaluator, and the classes that generated code calls.
 * Spark uses the class loader of the thread that plans and runs the query. The threads of a pool have the system's class
 * loader, which does not know the jars of `--jars`. Without Springbok, that is no problem for Spark.
 */
private[springbok] object OwnClasses {
  private val own = getClass.getClassLoader

  /**
   * Makes this thread find them: if Springbok's loader extends the thread's loader, it replaces it.
   *
   * @return
   *   whether the thread finds them now
   */
  def makeVisible(): Boolean = {
    val present = Utils.getContextOrSparkClassLoader
    val adds =
      (present ne own) && Iterator.iterate(own)(_.getParent).takeWhile(_ != null).exists(_ eq present)
    if (adds) Thread.currentThread.setContextClassLoader(own)
    adds || loads(present)
  }

  private def loads(by: ClassLoader): Boolean =
    try by.loadClass(getClass.getName) eq getClass
    // A closed loader, or the loader of a stopped web application, throws other errors.
    catch { case NonFatal(_) | _: LinkageError => false }
}
