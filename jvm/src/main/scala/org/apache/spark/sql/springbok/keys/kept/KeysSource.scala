package org.apache.spark.sql.springbok.keys.kept

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.SelfContained
import org.apache.spark.sql.types.StructType

/**
 * What a set of keys was computed from: the rows of one table of files that satisfy some conditions. Two equal sources give
 * equal keys if the files are the same.
 *
 * It is compared part by part, not by a hash. Expressions are compared as they are: Spark's canonical form takes sums of
 * floating-point numbers in another order for equal, and `try_add` within `+` for `+`.
 *
 * @param conjuncts
 *   the conditions. Columns are given by their positions in the table's schema
 * @param settings
 *   all settings of the session but Springbok's own, see [[KeysSource.settings]]
 */
final private[sql] case class KeysSource(
    table: KeysSource.Table,
    conjuncts: Set[Expression],
    key: Expression,
    settings: Map[String, String]
) {

  /** The number of parts of its expressions. */
  def size: Int = (conjuncts.iterator ++ Iterator(key)).map(SelfContained.size).sum

  /** What its expressions and its table take in memory, in bytes, about. Literals and schemas may be long. */
  def bytes: Long = {
    val literals = conjuncts.iterator.flatMap(_.collect { case l: Literal => l.toString.length * 2L }).sum
    size * 200L + literals + table.schema.json.length * 4L
  }
}

private[sql] object KeysSource {

  /** Longer conditions are not compared. */
  val mostParts = 2000

  /**
   * A table of files without partitions.
   *
   * @param format
   *   what reads the files: a class of Spark, or Delta's reader, which is equal if it reads the same columns the same way
   */
  final case class Table(
      format: AnyRef,
      roots: Set[Path],
      schema: StructType,
      options: Map[String, String]
  )

  /** Settings decide what functions compute and how files are read, among them ANSI mode and the time zone. */
  def settings(conf: SQLConf): Map[String, String] =
    conf.getAllConfs.filterNot(_._1.startsWith("spark.springbok."))
}
