package org.apache.spark.sql.springbok

import java.io.File
import java.util.concurrent.atomic.AtomicBoolean
import java.util.jar.JarFile

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

/**
 * Loads the classes of the planner in the background while a session starts, so that its first query does not wait for
 * them. The JVM loads and verifies the classes, but it does not initialize them: no code of theirs runs, and no two threads
 * can wait for each other's initialization.
 */
private object WarmUp {
  private val started = new AtomicBoolean

  /** Packages whose classes each query with joins uses. Spark asks for the report's text whenever a plan changes. */
  private val packages =
    Seq("catalyst", "conf", "cost", "keys", "physical", "reason", "record", "rules", "stats", "report")
      .map(p => s"org/apache/spark/sql/springbok/$p/") :+ "org/apache/spark/sql/execution/springbok/"

  /** The HTML of a report, which few queries are asked for. */
  private val page = "org/apache/spark/sql/springbok/report/page/"

  /** Once in a JVM. */
  def start(): Unit = if (started.compareAndSet(false, true)) {
    val thread = new Thread(() => run(), "springbok-warm-up")
    thread.setDaemon(true)
    thread.start()
  }

  private def run(): Unit =
    try for (location <- jar; name <- classes(location)) load(name)
    catch { case NonFatal(_) => }

  /** None if the classes come from folders, as in tests. */
  private def jar: Option[File] =
    for {
      domain <- Option(getClass.getProtectionDomain.getCodeSource)
      file = new File(domain.getLocation.toURI) if file.isFile
    } yield file

  private def classes(jar: File): Seq[String] = Using.resource(new JarFile(jar)) { open =>
    val names = open.entries.asScala
      .map(_.getName)
      .filter(n => packages.exists(n.startsWith(_)) && !n.startsWith(page))
    names.filter(_.endsWith(".class")).map(_.stripSuffix(".class").replace('/', '.')).toList
  }

  /** Classes for connectors that are not there cannot be loaded. */
  private def load(name: String): Unit =
    try Class.forName(name, false, getClass.getClassLoader).getDeclaredMethods: Unit
    catch { case _: ClassNotFoundException | _: LinkageError => }
}
