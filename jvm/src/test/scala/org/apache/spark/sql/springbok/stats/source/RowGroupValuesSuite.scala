package org.apache.spark.sql.springbok.stats.source

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.springbok.SpringbokTest

class RowGroupValuesSuite extends SpringbokTest {
  private val n = 3000

  /** Bytes that column `t` has at most by its dictionary, and as its footer counts them. */
  private def bytes(name: String, t: String, options: (String, String)*): (Option[Long], Option[Long]) = {
    val path = folder.resolve(name)
    spark
      .sql(s"SELECT $t AS t FROM range($n)")
      .coalesce(1)
      .write
      .options(options.toMap)
      .parquet(path.toString)
    val file = path.toFile.listFiles.find(_.getName.endsWith(".parquet")).get
    val hadoop = spark.sessionState.newHadoopConf()
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(new Path(file.toString), hadoop))
    try {
      val group = reader.getRowGroups.asScala.head
      val chunk = group.getColumns.asScala.head
      (RowGroupValues.listedBytes(reader, group, chunk).map(_.most), ParquetFooters.countedBytes(chunk))
    } finally reader.close()
  }

  test("the bytes of texts are bounded by the longest one of their dictionary") {
    val (listed, _) = bytes("listed", "if(id % 3 = 1, repeat('m', 2000), 'z')")
    assert(listed.exists(b => b >= 2000L * n && b < 2100L * n))
  }

  test("texts of which only the ends are stored are bounded by the writer's count alone") {
    val plain = Seq("parquet.enable.dictionary" -> "false", "parquet.writer.version" -> "v2")
    val (listed, counted) = bytes("ends", "concat(repeat('m', 2000), id)", plain: _*)
    assert(listed.isEmpty && counted.forall(_ > 2000L * n))
  }
}
