package org.apache.spark.sql.springbok.report

import scala.util.matching.Regex

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.springbok.report.model._
import org.apache.spark.util.Utils

/**
 * Takes out of a report what `spark.sql.redaction.string.regex` matches: in all texts that come from the query or its tables.
 * The texts of query and execution are redacted where they are made, as Spark cuts them too.
 */
final private[report] class Redaction(pattern: Option[Regex]) {
  private def text(t: String): String = Utils.redact(pattern, t)

  def apply(r: QueryReport): QueryReport =
    if (pattern.isEmpty) r
    else
      r.copy(
        output = r.output.map(o => o.copy(column = text(o.column), sources = o.sources.map(text))),
        predicateSources = r.predicateSources.map(text),
        sink = r.sink.map(sink),
        tables = r.tables.map(table),
        fragments = r.fragments.map(fragment),
        joins = r.joins.map(join),
        filters = r.filters.map(filter),
        joinOrder = r.joinOrder.map { o =>
          val (after, best) = (o.after.map(text), o.best.map(text))
          o.copy(before = text(o.before), after = after, best = best, reason = reason(o.reason))
        },
        conjuncts =
          r.conjuncts.map(c => c.copy(order = c.order.map(e => e.copy(condition = text(e.condition))))),
        settings = r.settings.map { case (k, v) => k -> text(v) }
      )

  private def table(t: TableEntry): TableEntry = t.copy(
    name = t.name.map(text),
    qualifiedName = t.qualifiedName.map(text),
    analyze = t.analyze.map(text),
    partitionFilters = t.partitionFilters.map(text),
    pushedFilters = t.pushedFilters.map(text),
    scan = t.scan.map(text),
    slots = t.slots.map(s => s.copy(column = text(s.column))),
    missingStatistics = t.missingStatistics.map(text),
    bucketing = t.bucketing.map(b => b.copy(columns = b.columns.map(text), sortedBy = b.sortedBy.map(text))),
    storedBy = t.storedBy.map(s => s.copy(columns = s.columns.map(text), text = text(s.text)))
  )

  private def side(s: SideEntry): SideEntry =
    s.copy(keys = s.keys.map(k => k.copy(column = k.column.map(text))))

  private def sink(s: SinkEntry): SinkEntry = s.copy(
    table = s.table.map(text),
    path = s.path.map(text),
    partitionColumns = s.partitionColumns.map(text)
  )

  private def join(j: JoinEntry): JoinEntry = j.copy(
    leftKeys = j.leftKeys.map(text),
    rightKeys = j.rightKeys.map(text),
    otherConjuncts = j.otherConjuncts.map(text),
    hint = j.hint.map(text),
    left = side(j.left),
    right = side(j.right),
    reason = j.reason.map(reason),
    notes = j.notes.map(reason),
    alternatives = j.alternatives.map(a => a.copy(ruledOut = a.ruledOut.map(reason)))
  )

  private def filter(f: FilterEntry): FilterEntry = f.copy(
    source = text(f.source),
    targetTable = f.targetTable.map(text),
    targetColumn = f.targetColumn.map(text),
    reason = reason(f.reason),
    notPushed = f.notPushed.map(reason)
  )

  private def fragment(f: FragmentEntry): FragmentEntry = f.copy(
    partitioning = partitioning(f.partitioning),
    nodes = f.nodes.map(n =>
      n.copy(
        // The name of a scan holds that of its table.
        operator = text(n.operator),
        label = text(n.label),
        aggregate = n.aggregate.map(aggregate)
      )
    ),
    exchange = f.exchange.map(e => e.copy(partitioning = partitioning(e.partitioning)))
  )

  private def aggregate(a: AggregateEntry): AggregateEntry = a.copy(
    keys = a.keys.map(text),
    functions = a.functions.map(f => f.copy(function = text(f.function)))
  )

  private def partitioning(p: PartitioningEntry): PartitioningEntry = p.copy(keys = p.keys.map(_.map(text)))

  private def reason(r: ReasonEntry): ReasonEntry = r.copy(
    text = text(r.text),
    args = r.args.map {
      case (k, s: String) => k -> text(s)
      case (k, s: Seq[?]) => k -> s.map(v => text(v.toString))
      case other => other
    }
  )
}

private[report] object Redaction {
  def of(session: SparkSession): Redaction = new Redaction(session.sessionState.conf.stringRedactionPattern)
}
