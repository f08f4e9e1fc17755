package org.apache.spark.sql.springbok.catalyst

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.types.DataType

/**
 * The exchanges that a plan reads more than once: Spark runs them once, and a filter below one of them would split it.
 *
 * Two exchanges are the same if their canonical forms are. These are dear to make, anew at each planning, so only exchanges
 * with the same leaves in the same order are compared.
 */
final private[springbok] class SharedExchanges(plan: SparkPlan) {
  import SharedExchanges.leaves

  private lazy val all: Seq[SparkPlan] = {
    val found = mutable.ArrayBuffer.empty[SparkPlan]
    def collect(p: SparkPlan): Unit = {
      p.foreach {
        case e: Exchange => found += e
        // It stands for another one of this plan, or of one that is not seen from here.
        case r: ReusedExchangeExec => found ++= Seq(r, r)
        case _ =>
      }
      SharedExchanges.subqueries(p).foreach(collect)
    }
    collect(plan)
    found.toSeq
  }

  private lazy val alike: Map[Seq[Any], Seq[SparkPlan]] = all.groupBy(leaves).filter(_._2.size > 1)

  /** Of exchanges with the same leaves those that are there twice, once one of them is asked for. */
  private val twice = mutable.HashMap.empty[Seq[Any], Set[SparkPlan]]

  private def isTwice(e: Exchange): Boolean = {
    val key = leaves(e)
    def repeated(es: Seq[SparkPlan]) =
      es.groupBy(_.canonicalized).collect { case (p, same) if same.size > 1 => p }.toSet
    alike.get(key).exists(es => twice.getOrElseUpdate(key, repeated(es))(e.canonicalized))
  }

  private val known = new IdentityHashMap[Exchange, Boolean]()

  /** Asked each time that a key passes the exchange. */
  def shared(e: Exchange): Boolean =
    known.computeIfAbsent(e, isTwice(_))
}

private[springbok] object SharedExchanges {

  /** The plans of the subqueries in a plan's expressions, without those in them. */
  def subqueries(p: SparkPlan): Seq[SparkPlan] =
    p.flatMap(_.expressions.flatMap(_.collect { case s: ExecSubqueryExpression => s.plan }))
      .flatMap(_.collect { case a: AdaptiveSparkPlanExec => a.executedPlan })

  /** Whether Spark runs the two as one. */
  def same(a: Exchange, b: SparkPlan): Boolean =
    (a eq b) || types(a) == types(b) && leaves(a) == leaves(b) && a.canonicalized == b.canonicalized

  private def types(p: SparkPlan): Seq[DataType] = p.output.map(_.dataType)

  private def leaves(p: SparkPlan): Seq[Any] = p match {
    case r: ReusedExchangeExec => leaves(r.child)
    case _ => p.collectLeaves().map(l => (leaf(l), literals(l)))
  }

  /** Of a scan's filters: canonical forms are of the same ones, in any order. */
  private def literals(p: SparkPlan): Set[Literal] = p match {
    case s: FileSourceScanExec => s.dataFilters.flatMap(_.collect { case l: Literal => l }).toSet
    case _ => Set.empty
  }

  /**
   * What tells a leaf from most others, cheaply: the path of a scan, of all else what it is. A table of many partitions may
   * have as many paths, which its file index sorts to compare them: their number has to do, and the table's columns.
   */
  def leaf(p: SparkPlan): Any = p match {
    case s: FileSourceScanExec =>
      val paths = s.relation.location.rootPaths
      if (paths.size == 1) paths.head else (paths.size, s.relation.dataSchema)
    case other => other.getClass
  }
}
