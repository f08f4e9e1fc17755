package org.apache.spark.sql.springbok.report

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, ExprId}
import org.apache.spark.sql.springbok.report.model.KeyColumnEntry

/** Where the rows of a plan's operators come from, and the keys of its joins. */
final private[report] class KeyOrigins(graph: PlanGraph, tables: TablesRead) {
  private val below = mutable.Map.empty[Int, Seq[Int]]

  // A fragment stands before its readers, and a parent before its children.
  for (f <- graph.fragments; n <- f.nodes.reverseIterator) below(n.id) = of(n)

  private def of(n: PlanNode): Seq[Int] =
    if (n.inputs.nonEmpty) n.inputs.toSeq.flatMap(read).distinct
    else PlanNumbers.link(n.plan).flatMap(_.collectLeaves().headOption).flatMap(tables.id).toSeq

  private def read(i: PlanInput): Seq[Int] = i match {
    case PlanInput.Operator(n) => below(n.id)
    case PlanInput.Fragment(f) => graph.fragments(f).nodes.headOption.fold(Seq.empty[Int])(n => below(n.id))
  }

  /** The ids of the tables that an input reads. */
  def tablesOf(i: PlanInput): Seq[Long] = read(i).map(_.toLong)

  /** Columns that only have another name than the one that they are read from. */
  private val renamed: Map[ExprId, ExprId] = graph.nodes
    .flatMap(_.plan.expressions)
    .flatMap(_.collect {
      case a @ Alias(from: Attribute, _) if a.exprId != from.exprId => a.exprId -> from.exprId
    })
    .toMap

  def of(key: Expression): KeyColumnEntry = {
    val origins = key.references.toSeq.map(a => origin(a.exprId))
    val table = origins.map(_.map(_._1)).distinct match {
      case Seq(one) => one
      case _ => None
    }
    val column = key match {
      case _: Attribute => origins.headOption.flatten.map(_._2)
      case _ => None
    }
    KeyColumnEntry(table.map(_.toLong), column)
  }

  private def origin(id: ExprId): Option[(Int, String)] =
    Iterator
      .iterate(Option(id))(_.flatMap(renamed.get))
      .take(KeyOrigins.mostNames)
      .takeWhile(_.isDefined)
      .flatMap(_.flatMap(tables.column))
      .nextOption()
}

private object KeyOrigins {

  /** The most names that a column has on its way through a plan. */
  private val mostNames = 100
}
