package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.springbok.catalyst.{CurrentExecution, RunningSpark, Survivable}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.report.model._

/**
 * The section of EXPLAIN: a line for each join and each runtime filter of the plan, with the reason, and what else was changed
 * or is missing. It is made of the same entries as the report.
 *
 * Spark does not tell a provider the mode of EXPLAIN, so all modes show the same text.
 */
private[springbok] object ExplainSection {

  def of(plan: SparkPlan): String = {
    val adaptive = ReportParts.adaptive(plan)
    adaptive.filter(unfinished(_, plan)) match {
      case Some(a) => a.getTagValue(lastRun).getOrElse(if (decided(plan)) notFinished else "")
      case None =>
        val text = made(plan)
        adaptive.filter(_.isFinalPlan).foreach(_.setTagValue(lastRun, text))
        text
    }
  }

  private val notFinished = "The query has not finished. Its decisions are shown when it has."

  /** The section of a query's last run. Spark does not tell its listeners when another run of the same plan has finished. */
  private val lastRun = TreeNodeTag[String]("springbok.section")

  /**
   * Spark describes the plan of a query for its listeners when it starts the query, after each stage, and when the query has
   * finished. It waits for each description, and the last one replaces the others: only that one has the section.
   */
  private def unfinished(a: AdaptiveSparkPlanExec, plan: SparkPlan): Boolean =
    !a.isFinalPlan && (hasStages(a) || starts(a.context.session, plan))

  private def hasStages(a: AdaptiveSparkPlanExec): Boolean =
    a.executedPlan.exists(_.isInstanceOf[QueryStageExec])

  /** Whether the query that this thread runs has this plan. A user's EXPLAIN is of another query than the one that runs. */
  private def starts(session: SparkSession, plan: SparkPlan): Boolean =
    CurrentExecution.query(session.sparkContext).exists(_.executedPlan eq plan)

  private def decided(plan: SparkPlan): Boolean = ReportParts.of(plan).exists(_.state.isDefined)

  private def made(plan: SparkPlan): String =
    ReportParts.of(plan).filter(_.state.isDefined).fold("")(r => r.session.withActive(section(r)))

  private def section(r: ReportParts): String =
    r.leftToSpark.filter(_ => r.state.forall(_.joins.isEmpty)) match {
      case Some(why) => why.text.capitalize + "."
      case None => lines(r).mkString("\n")
    }

  private def lines(r: ReportParts): Seq[String] =
    r.briefJoins.flatMap(join) ++
      r.filters.filterNot(notOfThisPlan).map(filter) ++
      r.joinOrder.flatMap(order) ++
      r.eagerAggregation
        .filter(_.below.isDefined)
        .map(a => s"aggregate ${Words.aggregation(a)} (${Words.reason(a.reason)})") ++
      r.conjuncts.filter(_.changed).map(conjuncts) ++
      r.incompleteTables.flatMap(missing).distinct ++
      r.sink.map("writes: " + Words.sink(_)) ++
      r.saved.flatMap(Words.saved).map("saved, by estimate: " + _) ++
      Words.memory(r.resources).map("memory: " + _) ++
      r.failures.map(Words.failure)

  private def join(j: JoinEntry): Seq[String] = {
    val name = s"join ${j.id} ${j.`type`} ${Words.keys(j)}"
    Words.strategy(j).fold(Seq(s"$name: not in the plan"))(planned(j, name, _))
  }

  private def planned(j: JoinEntry, name: String, strategy: String): Seq[String] = {
    val what = Seq(
      Some(strategy),
      Words.distribution(j),
      Words.changed(j),
      j.memoryBytes.map(b => s"${Reason.bytes(b)} of each executor")
    ).flatten.mkString(", ")
    val why = (j.reason.map(Words.reason) ++ Words.sparkAlone(j).map(s => s"Spark alone: $s")).mkString("; ")
    val first = s"$name: $what" + (if (why.isEmpty) "" else s" ($why)")
    first +: (Words.hintIgnored(j) ++ j.notes.map(Words.reason)).map("  " + _).toSeq
  }

  /** Placed, and left out of the plan that was kept. */
  private def notOfThisPlan(f: FilterEntry): Boolean =
    f.id.isDefined && f.toFragments.isEmpty && (f.status == "placed" || f.status == "unused")

  private def filter(f: FilterEntry): String = {
    val name = (f.id ++ Words.target(f).map(_ + " <-")).mkString("", " ", " ")
    val effect = f.status match {
      case "placed" => Words.expected(f)
      case "used" =>
        val parts = Seq(Words.removed(f)).filter(_.nonEmpty) ++ Words.told(f)
        Some(parts.mkString(", ")).filter(_.nonEmpty)
      case _ => None
    }
    s"filter ${name.trim}${if (name.trim.isEmpty) "" else " "}${f.source} of join ${f.join}: ${f.status}" +
      effect.fold("")(", " + _) + s" (${Words.reason(f.reason)})"
  }

  private def order(o: JoinOrderEntry): Option[String] =
    o.after.map(a => s"join order: $a instead of ${o.before} (${Words.reason(o.reason)})")

  private def conjuncts(c: ConjunctsEntry): String =
    s"conjuncts of ${c.operator}: ${c.order.map(_.condition).mkString(", then ")} (${Words.cost(c)})"

  private def missing(t: TableEntry): Option[String] =
    Words.missing(t).map(w => s"table ${t.name.getOrElse("?")}: $w" + t.analyze.fold("")("; " + _))
}

/** The section that EXPLAIN shows: Spark makes this class by its name in `spark.sql.extendedExplainProviders`. */
class SpringbokExplain extends ExtendedExplainGenerator {
  override def title: String = "Springbok"

  override def generateExtendedInfo(plan: SparkPlan): String =
    // On a Spark that this jar was not made for, nothing but this class is loaded.
    if (RunningSpark.refusal() != null) RunningSpark.refusal()
    else
      // Spark catches no LinkageError here.
      try ExplainSection.of(plan)
      catch { case e if Survivable(e) => s"no information: ${e.getClass.getName}" }
}
