package org.apache.spark.sql.springbok.stats.history

import java.io.{BufferedReader, InputStream, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8

/**
 * The lines of a file that is not trusted. Of a line that is too long only its beginning is kept, one character longer than
 * the longest line.
 *
 * @param longest
 *   characters of the longest line
 */
final private[history] class BoundedLines(in: InputStream, longest: Int) extends Iterator[String] {
  private val reader = new BufferedReader(new InputStreamReader(in, UTF_8))
  private var char = reader.read()

  override def hasNext: Boolean = char >= 0

  override def next(): String = {
    val line = new java.lang.StringBuilder
    while (char >= 0 && char != '\n') {
      if (line.length <= longest) line.append(char.toChar): Unit
      char = reader.read()
    }
    if (char >= 0) char = reader.read()
    line.toString
  }
}
