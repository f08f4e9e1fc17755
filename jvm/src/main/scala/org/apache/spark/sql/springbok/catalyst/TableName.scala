package org.apache.spark.sql.springbok.catalyst

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/** What a table of files is called: as in the catalog, else the last part of its path. */
private[springbok] object TableName {
  def apply(id: Option[TableIdentifier], fs: HadoopFsRelation): Option[String] =
    id.map(_.table).orElse(fs.location.rootPaths.headOption.map(_.getName.stripSuffix(".parquet")))
}
