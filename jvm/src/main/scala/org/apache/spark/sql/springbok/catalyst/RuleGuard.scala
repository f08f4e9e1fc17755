package org.apache.spark.sql.springbok.catalyst

import java.lang.management.ManagementFactory
import java.util.{Map => JMap}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.util.Utils

/** Where failures of rules are recorded. */
trait FailureLog {
  def failed(rule: String, e: Throwable): Unit
}

/**
 * Runs every rule. If the rule fails, the failure is logged once and recorded, and planning continues with the original
 * plan. The failure of a cancelled query is thrown, because its thread is to stop.
 */
object RuleGuard extends Logging {

  /** Thrown on purpose, by the setting that makes a rule fail. */
  final class Injected(rule: String) extends RuntimeException(s"injected into $rule")

  private val logged = ConcurrentHashMap.newKeySet[String]()

  /** Time in ns that queries have waited for a rule, and of it the time on a core. */
  final private class Spent { val wall, cpu = new LongAdder }
  private val spent = new ConcurrentHashMap[String, Spent]()

  /** Time in ns in each of Springbok's rules since the JVM started, for the benchmarks. */
  def spentNanosByRule: JMap[String, Long] = byRule(_.wall)

  /** The same, of the time on a core alone. The rules of a driver with few cores wait for tasks that run beside them. */
  def cpuNanosByRule: JMap[String, Long] = byRule(_.cpu)

  private def byRule(time: Spent => LongAdder): JMap[String, Long] =
    spent.asScala.map { case (rule, s) => rule -> time(s).sum() }.asJava

  /** Time in ns of the rules that the current rule of a thread has called. */
  final private class Running(val planning: Boolean) { var (calledNs, calledCpuNs) = (0L, 0L) }
  private val running = new ThreadLocal[Running]

  private lazy val threads = ManagementFactory.getThreadMXBean

  private def cpuNanos: Long =
    if (threads.isCurrentThreadCpuTimeSupported) threads.getCurrentThreadCpuTime else 0

  private val failed = new LongAdder

  /** Time in ns in all of Springbok's rules since the JVM started. */
  def spentNanos: Long = spent.values.asScala.map(_.wall.sum()).sum

  /** Failures of Springbok's rules since the JVM started. */
  def failures: Long = failed.sum()

  /** In Springbok's own tests, a failure that was not injected fails the query. */
  private val strict = java.lang.Boolean.getBoolean("springbok.testing")

  /** The stack trace without the message, which may quote data. */
  private def withoutMessage(e: Throwable): Throwable = {
    val bare = new RuntimeException(e.getClass.getName)
    bare.setStackTrace(e.getStackTrace)
    bare
  }

  /**
   * `body`, or `original` if it fails.
   *
   * @param rule
   *   the rule's name, for the log, the report and fault injection
   * @param record
   *   where the failure is recorded, if a record can be found
   * @param planning
   *   whether a query waits for the result; its time is counted then, without that of rules that it calls
   */
  def apply[T](rule: String, original: => T, record: => Option[FailureLog], planning: Boolean = true)(
      body: => T
  ): T = {
    val (start, startCpu) = (System.nanoTime(), cpuNanos)
    val caller = Option(running.get)
    val own = new Running(planning && caller.forall(_.planning))
    running.set(own)
    try {
      if (SQLConf.get.getConf(SpringbokConf.FAIL_IN).contains(rule)) throw new Injected(rule)
      body
    } catch {
      case e @ Interrupted() if planning => throw e
      // A report that takes too much memory would stop the application: Spark's listeners run it.
      case e
          if (Survivable(e) || !planning && e.isInstanceOf[OutOfMemoryError]) &&
            (!strict || e.isInstanceOf[Injected]) =>
        if (logged.add(rule + e.getClass.getName)) {
          logWarning(
            s"$rule failed with ${e.getClass.getName}; the plan goes on without it, and this is logged once.",
            withoutMessage(e)
          )
          logDebug(s"$rule failed", e)
        }
        failed.increment()
        try record.foreach(_.failed(rule, e))
        catch { case again if Survivable(again) => logDebug(s"the failure of $rule is not on record", again) }
        original
    } finally {
      running.set(caller.orNull)
      val (ns, cpuNs) = (System.nanoTime() - start, cpuNanos - startCpu)
      caller.foreach { c =>
        c.calledNs += ns
        c.calledCpuNs += cpuNs
      }
      if (own.planning) {
        val s = spent.computeIfAbsent(rule, _ => new Spent)
        s.wall.add(ns - own.calledNs)
        s.cpu.add(cpuNs - own.calledCpuNs)
      }
    }
  }
}

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
