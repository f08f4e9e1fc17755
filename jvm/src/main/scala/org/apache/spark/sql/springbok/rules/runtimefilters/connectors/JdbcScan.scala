package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.RowDataSourceScanExec
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.rules.runtimefilters.{PushableKeys, PushedFilter, PushWay, RemoteTable}
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.types._

/**
 * Tables of a database that Spark reads through JDBC. The query that Spark sends gets the keys as one more condition, so the
 * database sends only rows that can join.
 *
 * {{{
 *   RuntimeFilter RF000 -> customer                RuntimeFilter RF000[in] -> customer
 *   :- Scan JDBCRelation(orders), year = 2024  =>  +- Scan JDBCRelation(orders), year = 2024, customer IN (3, 4)
 *   +- ShuffleQueryStage 0
 * }}}
 *
 * '''When''': the column is integral, and so is every value that the database can store in it. The user
 * has neither switched off `pushDownPredicate` nor named other types with `customSchema`.
 *
 * '''Why the answer cannot change''': the condition is one that Spark would send if the query had it, and each row that it
 * removes has no match, because every database compares integers alike. Other types differ: a database compares strings by its
 * collation and refuses a text that is no UUID, its decimals may have more digits than Spark reads, and its dates may lie
 * beyond Spark's. The scan has not started, so nothing is read twice.
 *
 * '''Settings''': `spark.springbok.runtimeFilter.*`.
 */
final private[connectors] class JdbcScan(scan: RowDataSourceScanExec, table: RemoteTable)
    extends ScanConnector {
  import JdbcScan._

  override def skips(column: Attribute, stats: PlanStats): Double =
    if (takesConditions && compares(column)) 1.0 else 0.0

  override def push(
      column: Attribute,
      keys: PushableKeys,
      filter: ScanConnector.Filter
  ): Either[Reason, PushedFilter] =
    for {
      _ <- Either.cond(takesConditions, (), Reason.scanTakesNone(scan.nodeName.trim))
      _ <- Either.cond(compares(column), (), Reason.comparesOtherwise(column.name))
      asked <- keys
        .predicate(column)(ListOrRanges.of(column, _, longestList, filter))
        .toRight(Reason.keysNotTaken)
      condition <- DataSourceStrategy
        .translateFilter(asked._2, supportNestedPredicatePushdown = false)
        .toRight(Reason.keysNotTaken)
    } yield PushedFilter(asked._1, asked._2, PushWay.RemoteQuery(table, condition))

  private def takesConditions: Boolean =
    table.options.pushDownPredicate && table.options.customSchema.isEmpty

  private def compares(column: Attribute): Boolean =
    typed.exists(table.options.url.toLowerCase(Locale.ROOT).startsWith) && (column.dataType match {
      // MySQL compares the bits of a BIT column as a number without a sign.
      case ByteType | ShortType | IntegerType | LongType => !column.metadata.contains("binarylong")
      case _ => false
    })
}

private[connectors] object JdbcScan {

  /** Databases whose columns hold values of their type alone. SQLite's may hold any. */
  private val typed =
    Seq("postgresql", "mysql", "mariadb", "sqlserver", "db2", "h2", "derby").map(d => s"jdbc:$d:")

  /** Values of a list in a query: no database refuses as many. */
  private val longestList = 1000

  def of(scan: RowDataSourceScanExec): ScanConnector =
    RemoteTable
      .of(scan)
      .fold[ScanConnector](new RowsOnly(Reason.scanTakesNone(scan.nodeName.trim)))(new JdbcScan(scan, _))
}
