package org.apache.spark.sql.springbok.stats.source

import java.nio.file.{Files, Path}

import org.apache.spark.sql.classic.SparkSession

/** Tables of any number of files in a [[FarFileSystem]]. */
object FarTable {

  /** The only file of the query's rows. */
  def part(spark: SparkSession, folder: Path, sql: String): Path = {
    spark.sql(sql).coalesce(1).write.parquet(folder.toString)
    Files.list(folder).filter(_.toString.endsWith(".parquet")).findFirst.get
  }

  /** A view on so many copies of a file. */
  def view(spark: SparkSession, folder: Path, part: Path, name: String, files: Int): Unit = {
    val path = Files.createDirectory(folder.resolve(name))
    (0 until files).foreach(i => Files.createLink(path.resolve(f"$name-$i%05d.parquet"), part))
    val schema = spark.read.parquet(part.toString).schema
    spark.read.schema(schema).parquet(s"far:$path").createOrReplaceTempView(name)
  }
}
