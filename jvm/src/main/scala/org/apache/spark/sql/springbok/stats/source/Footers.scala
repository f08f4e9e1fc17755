package org.apache.spark.sql.springbok.stats.source

import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/** What the footers of a relation's files say, in each format that has footers. */
object Footers {

  /** None if the format has no footers, or nothing could be read. */
  def read(relation: HadoopFsRelation): Option[TableFooters] =
    sample(relation).filter(_.filesRead > 0)

  /** The same, even if no footer could be read. */
  private[springbok] def sample(relation: HadoopFsRelation): Option[TableFooters] =
    ParquetFooters.sample(relation).orElse(OrcFooters.sample(relation))
}
