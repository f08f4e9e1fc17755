package org.apache.spark.sql.springbok

import java.nio.file.{Files, Path, Paths}

import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.reason.Reason

/** Writes what is generated from settings and reasons; `make docs` runs it, and a test compares. */
object WriteDocs {
  def files: Seq[(Path, String)] = Seq(
    Paths.get("docs/configs.md") -> SpringbokConf.markdown,
    Paths.get("docs/reasons.md") -> Reason.markdown,
    Paths.get("python/springbok/settings.json") -> SpringbokConf.json
  )

  def main(args: Array[String]): Unit = files.foreach { case (path, text) => Files.writeString(path, text) }
}
