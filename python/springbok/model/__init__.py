"""The strategy report of a query as frozen dataclasses; docs/report.schema.json describes the document."""

from __future__ import annotations

from springbok.model.decisions import Alternative, Conjunct, Conjuncts, Filter, Join, JoinOrder, KeyColumn, Reason, Side
from springbok.model.plan import (
    Aggregate,
    AggregateFunction,
    Bucketing,
    Exchange,
    Fragment,
    Node,
    Output,
    Partitioning,
    Sink,
    Slot,
    Table,
    Transform,
)
from springbok.model.report import (
    FORMAT_VERSION,
    ComparisonData,
    Execution,
    JoinChange,
    Query,
    ReportData,
    Resources,
    Saved,
)

__all__ = [
    "FORMAT_VERSION",
    "Aggregate",
    "AggregateFunction",
    "Alternative",
    "Bucketing",
    "ComparisonData",
    "Conjunct",
    "Conjuncts",
    "Exchange",
    "Execution",
    "Filter",
    "Fragment",
    "Join",
    "JoinChange",
    "JoinOrder",
    "KeyColumn",
    "Node",
    "Output",
    "Partitioning",
    "Query",
    "Reason",
    "ReportData",
    "Resources",
    "Saved",
    "Side",
    "Sink",
    "Slot",
    "Table",
    "Transform",
]
