package org.apache.spark.sql.springbok.rules.runtimefilters.merge

import org.apache.spark.sql.catalyst.expressions.{And, Attribute, Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.{Inner, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.write.RowLevelOperation.Command
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.springbok.catalyst.{DeltaMerge, FileTable}
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.{
  RebuildableTable,
  ScanRecipe,
  TableVersion
}
import org.apache.spark.sql.types.{StructField, StructType}

/** A MERGE, as a table format plans it. */
sealed private[merge] trait MergeStatement {
  def source: LogicalPlan

  /** The condition by which source and target meet. */
  def on: Expression

  /** The relation of the target. */
  def target: LogicalPlan

  /** Whether rows are changed that are NOT MATCHED BY SOURCE. */
  def changesUnmatched: Boolean

  /** Whether the format compares the values of a column of the target with literals as Spark does. */
  def compares(column: Attribute): Boolean

  /** Size of the target in bytes, None if unknown. */
  def targetBytes: Option[Double]

  /**
   * The statement, which looks for matches only where the condition holds.
   *
   * @param pinned
   *   makes a plan read the source as it was when its keys were read
   */
  def within(condition: Expression, pinned: LogicalPlan => LogicalPlan): LogicalPlan
}

private[merge] object MergeStatement {
  def of(p: LogicalPlan): Option[MergeStatement] = p match {
    case DeltaMerge(parts) if DeltaMerge.isOfDelta(p) =>
      parts.target.collectFirst { case FileTable(r, fs) => new OfDelta(p, parts, r, fs) }
    case w: RowLevelWrite if w.operation.command == Command.MERGE =>
      for {
        join <- w.query.collectFirst { case m: MergeRows => m.child }.collect { case j: Join => j }
        on <- join.condition
        target <- Some(w.originalTable).collect { case r: DataSourceV2Relation => r }
      } yield new OfConnector(w, join, on, target)
    case _ => None
  }
}

/** Delta's command. It skips files by the conjuncts of ON that have columns of the target alone. */
final private class OfDelta(
    command: LogicalPlan,
    parts: DeltaMerge.Parts,
    override val target: LogicalRelation,
    files: HadoopFsRelation
) extends MergeStatement {
  override def source: LogicalPlan = parts.source
  override def on: Expression = parts.on
  override def changesUnmatched: Boolean = DeltaMerge.changesUnmatched(command)
  override def compares(column: Attribute): Boolean = true

  /** Of the table's version, for which the command itself asks as well. */
  override def targetBytes: Option[Double] = Some(files.location.sizeInBytes.toDouble)

  override def within(condition: Expression, pinned: LogicalPlan => LogicalPlan): LogicalPlan =
    DeltaMerge.copied(command, parts)(pinned(source), And(on, condition))
}

/**
 * Spark's plan for row-level operations of connectors.
 *
 *   - `ReplaceData` writes whole files anew. Its condition and its group filter say which files are read; a file that is read
 *     is read as a whole.
 *   - `WriteDelta` writes changes. The side of its join that has the target is filtered, as Spark itself does by the conjuncts
 *     of ON that have columns of the target alone, if rows of the target without a match are of no use.
 */
final private class OfConnector(
    write: RowLevelWrite,
    join: Join,
    override val on: Expression,
    override val target: DataSourceV2Relation
) extends MergeStatement {
  override def source: LogicalPlan = join.right

  override def changesUnmatched: Boolean = write match {
    case r: ReplaceData => r.groupFilterCondition.isEmpty
    case _ => join.joinType != Inner && join.joinType != RightOuter
  }

  private val recipe = new ScanRecipe(target.table, target.options, Nil, TableVersion.Unknown)

  private lazy val columns = StructType(
    target.output.map(a => StructField(a.name, a.dataType, a.nullable, a.metadata))
  )

  override def compares(column: Attribute): Boolean =
    RebuildableTable.of(target.table).exists(recipe.compares(_, column, columns).isRight)

  /** In memory: files hold less. */
  override def targetBytes: Option[Double] =
    recipe.expectedRows(columns).map(_ * columns.map(_.dataType.defaultSize).sum)

  override def within(condition: Expression, pinned: LogicalPlan => LogicalPlan): LogicalPlan = write match {
    case r: ReplaceData =>
      val groups = r.groupFilterCondition.map(g => And(inside(g, pinned), condition))
      r.copy(condition = And(r.condition, condition), query = pinned(r.query), groupFilterCondition = groups)
    case d: WriteDelta =>
      val query = d.query.transformDown {
        case j: Join if j eq join => j.copy(left = filtered(j.left, condition))
      }
      d.copy(condition = And(d.condition, condition), query = pinned(query))
    case _ => write
  }

  private def inside(e: Expression, pinned: LogicalPlan => LogicalPlan): Expression = e.transform {
    case s: SubqueryExpression => s.withNewPlan(pinned(s.plan))
  }

  private def filtered(side: LogicalPlan, condition: Expression): LogicalPlan = side.transformUp {
    case r: DataSourceV2Relation if r.table.isInstanceOf[RowLevelOperationTable] => Filter(condition, r)
  }
}
