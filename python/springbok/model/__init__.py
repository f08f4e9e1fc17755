"""The strategy report of a query as frozen dataclasses; docs/report.schema.json describes the document."""

from __future__ import annotations

from springbok.model.decisions import Alternative, Conjunct, Conjuncts, Filter, Join, JoinOrder, Reason, Side
from springbok.model.plan import (
    Aggregate,
    AggregateFunction,
    Exchange,
    Fragment,
    Node,
    Output,
    Partitioning,
    Sink,
    Slot,
    Table,
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
]
