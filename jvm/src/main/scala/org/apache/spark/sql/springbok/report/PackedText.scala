package org.apache.spark.sql.springbok.report

import java.io.{ByteArrayOutputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.{DeflaterOutputStream, InflaterOutputStream}

/** A text that is kept compressed: a server has hundreds of sessions, each with its last reports. */
final private[report] class PackedText(packed: Array[Byte]) {
  def text: String = new String(PackedText.through(new InflaterOutputStream(_), packed), UTF_8)
}

private[report] object PackedText {
  def apply(text: String): PackedText =
    new PackedText(through(new DeflaterOutputStream(_), text.getBytes(UTF_8)))

  private def through(coder: OutputStream => OutputStream, bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val coded = coder(out)
    coded.write(bytes)
    coded.close()
    out.toByteArray
  }
}
