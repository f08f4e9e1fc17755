package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.springbok.SpringbokTest

/** Fact tables of a format, and the table `dim` with the same columns, a number `k` of each row and its group `grp`. */
abstract class FactAndDimTest extends SpringbokTest {

  /** The rows of a fact table that join the chosen rows of `dim`, by a column of both. */
  protected def joined(
      fact: String,
      column: String,
      where: String = "d.k BETWEEN 2000 AND 2063"
  ): DataFrame =
    conf(shuffled: _*)(
      same(s"SELECT f.*, d.grp FROM $fact f JOIN dim d ON f.$column = d.$column WHERE $where")
    )

  /** What a failed assertion shows. */
  protected def why(df: DataFrame) =
    (told(df), record(df).filters.all.map(f => (f.state, f.reason.text)), executed(df))
}
