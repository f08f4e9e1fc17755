package org.apache.spark.sql.springbok.stats.source

import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/** What the footers of a relation's files say, of each format that has them. */
object Footers {

  /** None if the format has no footers, or nothing could be read. */
  def read(relation: HadoopFsRelation): Option[TableFooters] =
    sample(relation).filter(_.filesRead > 0)

  /** The same with what could not be read. */
  private[springbok] def sample(relation: HadoopFsRelation): Option[TableFooters] =
    ParquetFooters.sample(relation).orElse(OrcFooters.sample(relation))
}
