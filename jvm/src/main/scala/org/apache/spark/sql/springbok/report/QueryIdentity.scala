package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand
import org.apache.spark.sql.execution.datasources.{
  InsertIntoDataSourceCommand,
  SaveIntoDataSourceCommand,
  V1WriteCommand
}
import org.apache.spark.sql.internal.StaticSQLConf.SQL_EVENT_TRUNCATE_LENGTH
import org.apache.spark.sql.springbok.catalyst.{CurrentDatabase, Fingerprint}
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.springbok.report.model.QueryEntry
import org.apache.spark.util.Utils

/** What tells one query from another. Texts are redacted and cut as Spark redacts and cuts them in its own events. */
private[springbok] object QueryIdentity {

  /**
   * @param database
   *   the current one when the query was planned, if that is known
   */
  def of(qe: QueryExecution, database: Option[String]): QueryEntry = {
    val sc = qe.sparkSession.sparkContext
    QueryEntry(
      sql = sql(qe.logical)
        .filter(_ => qe.sparkSession.sessionState.conf.getConf(ReportConf.LITERALS))
        .flatMap(shown(qe.sparkSession, _)),
      statement = statement(qe.logical),
      user = sc.sparkUser,
      database = database.orElse(CurrentDatabase.name(qe.sparkSession)),
      application = sc.applicationId,
      fingerprint = Some(Fingerprint.of(qe.analyzed))
    )
  }

  /** A text without what `spark.sql.redaction.string.regex` matches; None if Spark's events show no texts. */
  def shown(session: SparkSession, text: String): Option[String] = {
    val most = session.sparkContext.conf.get(SQL_EVENT_TRUNCATE_LENGTH)
    val redacted = Utils.redact(session.sessionState.conf.stringRedactionPattern, text)
    Some(redacted.take(most)).filter(_.nonEmpty)
  }

  /** The SQL that a plan was parsed from, alone or below operators of a DataFrame. */
  private def sql(p: LogicalPlan): Option[String] = p match {
    // The text below is that of the view, or of the DataFrame that was given a name.
    case _: View | _: SubqueryAlias => None
    case _ =>
      p.origin.sqlText
        .filter(_ => p.origin.objectType.isEmpty)
        .orElse(if (p.children.size == 1) sql(p.children.head) else None)
  }

  /** The kind of a statement, in the words of SQL; the class of any other command. */
  def statement(p: LogicalPlan): String = p match {
    case w: RowLevelWrite => w.operation.command.toString
    case _: MergeIntoTable => "MERGE"
    case _: UpdateTable => "UPDATE"
    case _: DeleteFromTable => "DELETE"
    case _: CreateTableAsSelect | _: CreateDataSourceTableAsSelectCommand => "CREATE TABLE AS SELECT"
    case _: ReplaceTableAsSelect => "REPLACE TABLE AS SELECT"
    case _: CacheTable | _: CacheTableAsSelect => "CACHE TABLE"
    case _: InsertIntoStatement | _: V2WriteCommand | _: V1WriteCommand => "INSERT"
    case _: InsertIntoDataSourceCommand | _: SaveIntoDataSourceCommand => "INSERT"
    case c: Command => c.nodeName
    case _ => "SELECT"
  }
}
