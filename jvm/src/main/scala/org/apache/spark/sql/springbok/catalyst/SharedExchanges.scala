package org.apache.spark.sql.springbok.catalyst

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.types.DataType

/**
 * The exchanges that a plan reads more than once. Spark runs each of them once, and a filter below one of its readers would
 * split it.
 *
 * Two exchanges are the same if their canonical forms are. Canonical forms are expensive and are made anew at each planning,
 * so only exchanges with the same leaves in the same order are compared.
 */
final private[springbok] class SharedExchanges(plan: SparkPlan) {
  import SharedExchanges.{leaves, paths}

  private lazy val all: Seq[SparkPlan] = {
    val found = mutable.ArrayBuffer.empty[SparkPlan]
    def collect(p: SparkPlan): Unit = {
      p.foreach {
        case e: Exchange => found += e
        // It stands for an exchange of this plan or of a plan that is not visible here.
        case r: ReusedExchangeExec => found ++= Seq(r, r)
        case _ =>
      }
      SharedExchanges.subqueries(p).foreach(collect)
    }
    collect(plan)
    found.toSeq
  }

  /** By what is cheapest to compare first. Many exchanges are nested, and each is asked for the leaves of those below it. */
  private lazy val alike: Map[Seq[Any], Seq[SparkPlan]] =
    all.groupBy(paths).values.filter(_.size > 1).flatMap(_.groupBy(leaves)).filter(_._2.size > 1).toMap

  /** Whether some exchanges have the same leaves, without which none is shared. */
  def mayShare: Boolean = alike.nonEmpty

  /** By leaves: the canonical forms that occur at least twice. Filled on demand. */
  private val twice = mutable.HashMap.empty[Seq[Any], Set[SparkPlan]]

  private def isTwice(e: Exchange): Boolean = {
    lazy val key = leaves(e)
    def repeated(es: Seq[SparkPlan]) =
      es.groupBy(_.canonicalized).collect { case (p, same) if same.size > 1 => p }.toSet
    alike.nonEmpty && alike.get(key).exists(es => twice.getOrElseUpdate(key, repeated(es))(e.canonicalized))
  }

  private val known = new IdentityHashMap[Exchange, Boolean]()

  /** Whether the plan reads the exchange more than once. Called each time a key passes the exchange. */
  def shared(e: Exchange): Boolean =
    known.computeIfAbsent(e, isTwice(_))
}

private[springbok] object SharedExchanges {

  /** The plans of the subqueries in a plan's expressions, without nested subqueries. */
  def subqueries(p: SparkPlan): Seq[SparkPlan] = if (!p.containsPattern(PLAN_EXPRESSION)) Nil
  else
    p.flatMap(_.expressions.flatMap(_.collect { case s: ExecSubqueryExpression => s.plan }))
      .flatMap(_.collect { case a: AdaptiveSparkPlanExec => a.executedPlan })

  /** Whether Spark runs the two as one. */
  def same(a: Exchange, b: SparkPlan): Boolean =
    (a eq b) || leaves(a) == leaves(b) && types(a) == types(b) && a.canonicalized == b.canonicalized

  private def types(p: SparkPlan): Seq[DataType] = p.output.map(_.dataType)

  private def leaves(p: SparkPlan): Seq[Any] = read(p).map(l => (leaf(l), literals(l)))

  private def paths(p: SparkPlan): Seq[Any] = read(p).map(leaf)

  private def read(p: SparkPlan): Seq[SparkPlan] = p match {
    case r: ReusedExchangeExec => read(r.child)
    case _ => p.collectLeaves()
  }

  /** The literals in a scan's filters, which equal canonical forms have in common, in any order. */
  private def literals(p: SparkPlan): Set[Literal] = p match {
    case s: FileSourceScanExec => s.dataFilters.flatMap(_.collect { case l: Literal => l }).toSet
    case _ => Set.empty
  }

  /**
   * A cheap value that differs for most different leaves: the path of a scan, otherwise the class. A table with many
   * partitions may have as many paths, and comparing them is expensive, so their number and the table's columns are used.
   */
  def leaf(p: SparkPlan): Any = p match {
    case s: FileSourceScanExec =>
      val paths = s.relation.location.rootPaths
      if (paths.size == 1) paths.head else (paths.size, s.relation.dataSchema)
    case other => other.getClass
  }
}
