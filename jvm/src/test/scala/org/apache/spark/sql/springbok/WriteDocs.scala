package org.apache.spark.sql.springbok

import java.nio.file.{Files, Path, Paths}

import org.apache.spark.sql.springbok.conf.Settings
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.report.ReportSchema

/** Writes what is generated from settings and reasons; `make docs` runs it, and a test compares. */
object WriteDocs {
  def files: Seq[(Path, String)] = Seq(
    Paths.get("docs/configs.md") -> Settings.markdown,
    Paths.get("docs/reasons.md") -> Reason.markdown,
    Paths.get("docs/report.schema.json") -> ReportSchema.text,
    Paths.get("python/springbok/settings.json") -> Settings.json
  )

  def main(args: Array[String]): Unit = files.foreach { case (path, text) => Files.writeString(path, text) }
}
