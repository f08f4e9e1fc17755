package org.apache.spark.sql.springbok.stats.source

import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/** Partition columns whose values the reader of a table takes from the folders of its files. */
private[springbok] object FolderColumns {

  /**
   * Their names. Readers of other table formats may take a column from the files, where it may differ: with some key generators,
   * Hudi keeps rows of `2018-09-23` in the folder `2018/09/23`.
   */
  def of(table: HadoopFsRelation): Seq[String] = {
    val index = table.location
    val trusted = !TableFiles.namedByLog(index) || index.getClass.getName.startsWith(TableFiles.delta)
    if (trusted) table.partitionSchema.fieldNames.toSeq else Nil
  }
}
