package org.apache.spark.sql.springbok.stats.source

import org.apache.spark.sql.execution.datasources.FileIndex

/**
 * The rows of the files that a query reads of a table, as the table's log counts them.
 *
 * Delta plans a scan before Spark plans the query. If the query has a condition on the table, `IS NOT NULL` of a join's key
 * included, the scan says how many rows its files have, less those that deletion vectors delete. Nothing is read for it. The
 * columns' ranges of those files are in the log too, but Delta does not keep them in the plan.
 *
 * Delta is no dependency. Its classes are case classes, so they are read as products, by the names and places of their fields:
 * `DeltaScan(version, files, total, partition, scanned)` and `DataSize(bytesCompressed, rows, files, logicalRows)`.
 */
private[stats] object LogRows {
  def of(index: FileIndex): Option[Double] =
    for {
      scan <- scanOf(index)
      scanned <- scan.productIterator.flatMap(product(_, "DataSize")).toSeq.lastOption
      rows <- number(scanned, logicalRows).orElse(number(scanned, rows))
    } yield rows.toDouble

  /** The version of the table that the query reads, if it has a condition on the table. */
  def version(index: FileIndex): Option[Long] = scanOf(index).flatMap(number(_, version))

  /** The number of files that the query reads, if it has a condition on the table. */
  def files(index: FileIndex): Option[Long] = for {
    scan <- scanOf(index) if files < scan.productArity
    found <- Some(scan.productElement(files)).collect { case s: scala.collection.Seq[_] => s.size.toLong }
  } yield found

  private def scanOf(index: FileIndex): Option[Product] =
    product(index, "PreparedDeltaFileIndex").flatMap(
      _.productIterator.flatMap(product(_, "DeltaScan")).nextOption()
    )

  private val version = 0
  private val files = 1
  private val rows = 1
  private val logicalRows = 3

  private def product(x: Any, name: String): Option[Product] = x match {
    case p: Product if p.productPrefix == name => Some(p)
    case _ => None
  }

  private def number(p: Product, field: Int): Option[Long] =
    Option.when(field < p.productArity)(p.productElement(field)).collect { case Some(n: Long) => n }
}
