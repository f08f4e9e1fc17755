package org.apache.spark.sql.springbok.report.model

@describe("Operators that run together: a query stage.")
final case class FragmentEntry(
    id: Long,
    @oneOf("shuffle", "broadcast", "subquery", "result") kind: String,
    inputs: Seq[Long],
    partitioning: PartitioningEntry,
    nodes: Seq[NodeEntry],
    exchange: Option[ExchangeEntry]
)

/** How rows are spread. */
final case class PartitioningEntry(
    @oneOf("unpartitioned", "random", "hash", "range", "bucketed", "broadcast") kind: String,
    keys: Option[Seq[String]] = None,
    partitions: Option[Long] = None
)

/** An operator. */
final case class NodeEntry(
    id: Int,
    parent: Option[Long],
    operator: String,
    label: String,
    join: Option[Long],
    filter: Option[String],
    estimatedRows: Option[Double],
    rows: Option[Long],
    aggregate: Option[AggregateEntry] = None
)

@describe(
  "What an operator aggregates: the keys of its groups, and its functions, each with the phase that it computes. A partial function takes rows and gives buffers, merge takes and gives buffers, final takes buffers, and complete takes rows and gives results. phase is that of all functions, or mixed."
)
final case class AggregateEntry(
    @oneOf("partial", "merge", "final", "complete", "mixed") phase: String,
    keys: Seq[String],
    functions: Seq[AggregateFunctionEntry]
)

final case class AggregateFunctionEntry(
    function: String,
    @oneOf("partial", "merge", "final", "complete") phase: String
)

/** Rows on their way to the fragments `to`; `writtenBytes` are compressed. */
final case class ExchangeEntry(
    partitioning: PartitioningEntry,
    to: Seq[Long],
    estimatedRows: Option[Double],
    estimatedBytes: Option[Double],
    rows: Option[Long],
    bytes: Option[Long],
    writtenBytes: Option[Long],
    @atLeast(1) qError: Option[Double]
)
