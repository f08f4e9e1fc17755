package org.apache.spark.sql.springbok.report

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.springbok.{AppliedRuntimeFilterExec, SummarizeKeysExec}
import org.apache.spark.sql.springbok.physical.LateFilter
import org.apache.spark.sql.springbok.record.{FilterRecord, FilterState}
import org.apache.spark.sql.springbok.report.model.{FilterEntry, ReasonEntry}

/** The runtime filters of a query, made or not, with what they removed. */
final private[springbok] class FilterReport(
    filters: Seq[FilterRecord],
    graph: PlanGraph,
    numbers: PlanNumbers,
    tables: TablesRead
) {
  import FilterReport.Tested
  import PlanNumbers.rowsOf

  private val at: Map[FilterRecord, Seq[PlanNode]] =
    graph.nodes.flatMap(n => FragmentReport.filter(n.plan).map(_.record -> n)).groupMap(_._1)(_._2)

  /** The fragment that each filter is built from, by the filter's id. */
  private val sources: Map[String, Int] = graph.nodes.flatMap { n =>
    n.plan match {
      case s: SummarizeKeysExec => s.plan.labels.map(_.takeWhile(_ != ' ') -> graph.home(n.id))
      case _ => Nil
    }
  }.toMap

  /** The fragment of each join. */
  private val joins: Map[Int, Int] = JoinReport.joins(graph).map { case (id, n) => id -> graph.home(n.id) }

  /** As in Impala: a local filter does not leave the fragment of its join. */
  private def scope(f: FilterRecord, applied: Seq[PlanNode]): Option[String] =
    joins.get(f.join).filter(_ => applied.nonEmpty).map { home =>
      if (applied.forall(n => graph.home(n.id) == home)) "local" else "global"
    }

  private def late(nodes: Seq[PlanNode]): Option[LateFilter.Outcome] = nodes
    .map(_.plan)
    .collectFirst(Function.unlift {
      case a: AppliedRuntimeFilterExec => a.late
      case _ => None
    })
    .filter(_ => numbers.ran)
    .map(_.outcome)

  // Placed ones first, in the order of their ids.
  def entries: Seq[FilterEntry] = filters.sortBy(_.number.getOrElse(Int.MaxValue)).map(entry)

  /** Where the filter was tested row by row in a finished run. */
  private def tested(f: FilterRecord): Seq[AppliedRuntimeFilterExec] =
    at.getOrElse(f, Nil).map(_.plan).collect {
      case Tested(a) if numbers.ran => a
    }

  private def rowsIn(tested: Seq[AppliedRuntimeFilterExec]): Option[Long] =
    Option.when(tested.nonEmpty)(tested.map(n => rowsOf(n.child)).sum)

  private def removed(tested: Seq[AppliedRuntimeFilterExec]): Option[Long] =
    Option.when(tested.nonEmpty)(tested.map(FilterReport.removed).sum)

  private def entry(f: FilterRecord): FilterEntry = {
    val (state, nodes, tests) = (f.state, at.getOrElse(f, Nil), tested(f))
    val effect = f.effect
    val outcome = late(nodes)
    val pauses = Option.when(tests.nonEmpty)(tests.map(_.metrics("numPauses").value).sum)
    val scan = nodes
      .flatMap(_.plan.collectFirst { case s: FileSourceScanExec => s })
      .headOption
      .filter(_ => numbers.ran)
    val wait = state.filter.flatMap(_.waiting)
    FilterEntry(
      id = state.filter.map(_.id),
      join = f.join,
      source = f.sourceKey,
      targetTable = f.targetTable,
      targetColumn = f.targetColumn,
      targetId = f.target.flatMap(t => tables.column(t.id)).map(_._1.toLong),
      fromFragment = state.filter.flatMap(p => sources.get(p.id)).map(_.toLong),
      toFragments = nodes.map(n => graph.home(n.id).toLong).distinct,
      status = FilterReport.status(state, numbers.ran),
      reason = ReasonEntry(state.reason),
      kinds = f.kinds,
      pushed = effect.pushed.flatMap(_.toOption),
      notPushed = effect.pushed.flatMap(_.left.toOption).map(ReasonEntry(_)),
      expectedRetained = Shown.finite(f.expectedRetained),
      timing = state.filter.map(_.timing.name),
      expectedBenefitMs = Shown.finite(wait.map(_.benefitMs)),
      expectedIdleMs = Shown.finite(wait.flatMap(_.idleMs)),
      buildRows = state.found.rows,
      buildKeys = state.found.keys,
      bytes = effect.bytes,
      falsePositiveRate = effect.falsePositiveRate,
      waitedMs = state.found.waitedMs,
      rowsIn = rowsIn(tests),
      rowsRemoved = removed(tests),
      rowGroups = effect.rowGroups.map(_._2.toLong),
      rowGroupsRemoved = effect.rowGroups.map(_._1.toLong),
      files = scan.flatMap(s => numbers.footers(s.relation)).map(_.files.toLong),
      filesRead = scan.flatMap(numbers.filesRead),
      scanRows = scan.map(rowsOf),
      pauses = pauses,
      switchedOff = pauses.map(_ > 0),
      scope = scope(f, nodes),
      arrivedMs = outcome.flatMap(_.arrivedMs),
      tasksTested = outcome.map(_.tested.toLong),
      tasksUntested = outcome.map(_.untested.toLong)
    )
  }

}

private[springbok] object FilterReport {

  /** A filter that is tested row by row. */
  private object Tested {
    def unapply(p: SparkPlan): Option[AppliedRuntimeFilterExec] = p match {
      case a: AppliedRuntimeFilterExec if a.predicate.isDefined => Some(a)
      case _ => None
    }
  }

  /** Rows that the filters of a finished plan removed row by row. */
  def rowsRemoved(graph: PlanGraph): Long =
    graph.nodes.map(_.plan).collect { case Tested(a) => removed(a) }.sum

  private def removed(a: AppliedRuntimeFilterExec): Long =
    PlanNumbers.rowsOf(a.child) - a.metrics("numOutputRows").value

  /** A filter whose scan was never resolved did nothing in a query that has run. */
  def status(s: FilterState, ran: Boolean): String = s match {
    case FilterState.Undecided | _: FilterState.Declined => "declined"
    case _: FilterState.Used => "used"
    case _: FilterState.Placed | _: FilterState.Late => if (ran) "unused" else "placed"
  }
}
