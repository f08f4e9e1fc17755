package org.apache.spark.sql.springbok.stats.history

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.{Configurator, Property}

/** What is logged. */
private[history] object Warnings {

  /** The warnings of a package's classes during a block. */
  def of(name: String)(body: => Unit): Seq[String] = {
    val said = new ConcurrentLinkedQueue[String]
    val appender = new AbstractAppender("warnings", null, null, true, Property.EMPTY_ARRAY) {
      override def append(e: LogEvent): Unit =
        if (e.getLevel == Level.WARN && e.getLoggerName.startsWith(name))
          said.add(e.getMessage.getFormattedMessage): Unit
    }
    appender.start()
    Configurator.setLevel(name, Level.WARN)
    val root = LogManager.getRootLogger.asInstanceOf[Logger]
    root.addAppender(appender)
    try body
    finally root.removeAppender(appender)
    said.asScala.toList
  }
}
