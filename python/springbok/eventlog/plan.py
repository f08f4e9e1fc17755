"""The operators of an execution's plan with the rows that were observed, and the way of a join's key to a scan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

from springbok.eventlog.executions import Execution

USER_CODE = re.compile(r"UDF|python", re.IGNORECASE)
# Nodes that are no operators of their own, and those whose inputs run in other stages.
_WRAPPER = re.compile(r"WholeStageCodegen|InputAdapter|\w+QueryStage|AdaptiveSparkPlan|AQEShuffleRead|ColumnarToRow")
_STAGE_ENDS = ("Exchange", "BroadcastExchange", "Subquery", "SubqueryBroadcast")
_STRATEGIES = {
    "SortMergeJoin": "sort-merge",
    "ShuffledHashJoin": "shuffled hash",
    "BroadcastHashJoin": "broadcast hash",
}
_NAME = re.compile(r"(\w+)#\d+")
_ID = re.compile(r"#(\d+)")
_PLAN_ID = re.compile(r"\[plan_id=(\d+)\]")
_PATH = re.compile(r"Location: \w+(?:\(\d+ paths\))?\[(?:[^\],]*/)?([^\],/]+)")
# Python's own limit is 1,000 calls, and a level takes up to three.
_DEEPEST = 250
# Operators that take rows one by one, so that a filter may go below them.
_PASSING = ("Project", "Filter", "Sort", "Exchange", "BroadcastExchange", "Generate")


@dataclass(frozen=True)
class Join:
    """An equi-join: Spark's name of its type, pairs of keys, the build side, and whether it has more conditions."""

    strategy: str
    type: str
    keys: tuple[tuple[str, str], ...]
    build_left: bool
    conditional: bool


@dataclass(eq=False)
class Operator:
    """A node of the plan. Its metrics are sums of rows, bytes and ms over its tasks; a fragment runs in one stage."""

    name: str
    text: str
    metrics: dict[str, float]
    accumulators: set[int]
    inputs: list[Operator]
    subqueries: list[Operator]
    fragment: int = 0
    reused: Operator | None = None
    """The exchange that this place of the plan reads as well."""
    shared: bool = False

    @cached_property
    def rows(self) -> float | None:
        """Rows that it returns, None if nobody has counted them."""
        own = self.metrics.get("shuffle records written" if self.name == "Exchange" else "number of output rows")
        if own is not None:
            return own
        below = [self.reused.rows] if self.reused else [o.rows for o in self.inputs]
        known = [n for n in below if n is not None]
        return sum(known) if known and len(known) == len(below) else None

    @cached_property
    def ids(self) -> frozenset[str]:
        """The numbers of the attributes that it and the operators below it name."""
        return frozenset(_ID.findall(self.text)).union(*(o.ids for o in self.inputs))

    @cached_property
    def join(self) -> Join | None:
        """None if it is no equi-join."""
        strategy = _STRATEGIES.get(self.name.partition("(")[0])
        if not strategy or len(self.inputs) != 2:
            return None
        left, rest = _list(self.text)
        right, rest = _list(rest)
        kind, _, rest = rest.lstrip(", ").partition(",")
        keys = tuple(zip(left, right, strict=False))
        return Join(strategy, kind.partition("(")[0], keys, "BuildLeft" in rest, "(" in rest)

    @cached_property
    def table(self) -> str | None:
        """The table, or the last part of the path, that it scans; None if it is no scan."""
        kind, _, scanned = self.name.partition(" ")
        if kind not in ("Scan", "BatchScan", "InMemoryTableScan"):
            return None
        path = _PATH.search(self.text)
        table = scanned.rpartition(" ")[2].removeprefix("spark_catalog.")
        return path[1] if path and "." not in table else table or kind

    @property
    def columns(self) -> list[str]:
        """The names of the columns that it scans, as far as Spark has not cut its text."""
        return sorted(_NAME.findall(self.text.partition("]")[0]))

    def walk(self) -> Iterator[Operator]:
        """It, and all operators below it."""
        yield self
        for o in (*self.inputs, *self.subqueries):
            yield from o.walk()


def plan(execution: Execution) -> list[Operator]:
    """The operators of the last plan that Spark has told, with the metrics of the execution; the root is the first.

    A plan that is thousands of operators deep has none.
    """
    if _depth(execution.plan) > _DEEPEST:
        return []
    root = _operator(execution.plan, execution.metrics, set())
    _number(root, 0, count(1))
    operators = list(root.walk())
    exchanges = {m[1]: o for o in operators if "Exchange" in o.name and o.inputs and (m := _PLAN_ID.search(o.text))}
    for o in operators:
        if o.name == "ReusedExchange" and (m := _PLAN_ID.search(o.text)) and m[1] in exchanges:
            o.reused = exchanges[m[1]]
            o.reused.shared = True
    return operators


def _depth(plan: dict[str, Any]) -> int:
    level, depth = [plan], 0
    while level:
        level, depth = [below for node in level for below in node["children"]], depth + 1
    return depth


def _operator(node: dict[str, Any], metrics: dict[int, float], above: set[int]) -> Operator:
    name, below = node["nodeName"].strip(), node["children"]
    ids = above | {m["accumulatorId"] for m in node["metrics"]}
    if _WRAPPER.match(name) and len(below) == 1:
        return _operator(below[0], metrics, ids)
    own = {m["name"]: metrics[i] for m in node["metrics"] if (i := m["accumulatorId"]) in metrics}
    # Later lines of Spark also tell the plan of an exchange at the places that reuse it.
    made = [_operator(n, metrics, set()) for n in below] if name != "ReusedExchange" else []
    inputs, subqueries = ([o for o in made if ("Subquery" in o.name) == is_one] for is_one in (False, True))
    return Operator(name, node["simpleString"], own, ids, inputs, subqueries)


def _number(o: Operator, fragment: int, fresh: Iterator[int]) -> None:
    o.fragment = fragment
    for below in (*o.inputs, *o.subqueries):
        _number(below, next(fresh) if o.name in _STAGE_ENDS else fragment, fresh)


def ways(o: Operator, key: str) -> list[list[Operator]]:
    """The operators from one down to each scan that a filter of this key may go to.

    It stops where rows without a match may matter, at keys that user code computes, and at exchanges that are reused.
    """
    if o.table:
        return [[o]]
    return [[o, *way] for below, k in _routes(o, key) for way in ways(below, k)]


def _routes(o: Operator, key: str) -> list[tuple[Operator, str]]:
    ids = set(_ID.findall(key))
    if o.shared or not ids or USER_CODE.search(key):
        return []
    if o.join:
        return _through_join(o, o.join, key, ids)
    if o.name == "Union":
        return _through_union(o.inputs, key)
    if o.name == "Project":
        key = _computed(o.text, key)
    elif "Aggregate" in o.name or o.name == "Window":
        # The keys of the groups are the first list, the keys of a window's partitions the second one.
        groups = _list(o.text)[0] if "Aggregate" in o.name else _list(_list(o.text)[1])[0]
        if not ids <= set(_ID.findall(str(groups))):
            return []
    elif o.name not in _PASSING:
        return []
    return _into(o.inputs, key)


def _through_join(o: Operator, j: Join, key: str, ids: set[str]) -> list[tuple[Operator, str]]:
    left, right = ([side] for side in o.inputs)
    found = _into(left, key) if j.type not in ("RightOuter", "FullOuter") else []
    found += _into(right, key) if j.type in ("Inner", "Cross", "RightOuter") else []
    if j.type in ("Inner", "LeftSemi"):  # the key of the other side is equal
        for a, b in j.keys:
            found += _into(right, b) if set(_ID.findall(a)) == ids else []
            found += _into(left, a) if set(_ID.findall(b)) == ids else []
    return found


def _through_union(inputs: list[Operator], key: str) -> list[tuple[Operator, str]]:
    """The columns of a union are those of its first input, and the others' at the same positions."""
    lists = [_list(o.text)[0] for o in inputs if o.name == "Project"]
    at = [i for i, item in enumerate(lists[0] if lists else []) if _ID.findall(item)[-1:] == _ID.findall(key)]
    if len(at) != 1 or len(lists) != len(inputs) or len({len(items) for items in lists}) > 1:
        return []
    return [(o, items[at[0]].rpartition(" AS ")[2]) for o, items in zip(inputs, lists, strict=True)]


def _into(inputs: Iterable[Operator], key: str) -> list[tuple[Operator, str]]:
    ids = set(_ID.findall(key))
    return [(o, key) for o in inputs if ids and ids <= o.ids]


def _computed(text: str, key: str) -> str:
    """What a projection computes a key from. Where Spark has cut the text, it is taken to be a column."""
    for item in _list(text)[0]:
        made, alias, name = item.rpartition(" AS ")
        if alias and _ID.findall(name) == _ID.findall(key):
            return made
    return key


def _list(text: str) -> tuple[list[str], str]:
    """The items of the first list in square brackets, and the text after it."""
    start = text.find("[") + 1
    items, depth, begin = [], 1, start
    for i in range(start, len(text) if start else 0):
        depth += (text[i] in "([") - (text[i] in ")]")
        if depth == 0 or (depth == 1 and text[i] == ","):
            items.append(text[begin:i].strip())
            begin = i + 1
        if depth == 0:
            return items, text[i + 1 :]
    return [], text
