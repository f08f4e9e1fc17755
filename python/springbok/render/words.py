"""Parts of reports in words, the same as in report/Words.scala, which tests/spark/test_words.py compares."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from decimal import ROUND_HALF_UP, Decimal, localcontext

from springbok.model import (
    Aggregate,
    Alternative,
    Conjunct,
    Execution,
    Filter,
    Join,
    ReportData,
    Side,
    Sink,
    Table,
)


def fixed(n: float, digits: int) -> str:
    """A number with so many digits after the point, rounded as the JVM does: half up, by its shortest decimal form."""
    with localcontext() as context:
        context.prec = 400  # a double has up to 309 digits before the point
        return f"{Decimal(repr(n)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):f}"


def amount(n: float | None, *, unknown: str = "unknown") -> str:
    """A number of rows: 1,234 or 1.23 M."""
    if n is None:
        return unknown
    if n < 100_000:
        return f"{int(fixed(n, 0)):,}"
    size, unit = next((s, u) for s, u in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")) if n >= s)
    return f"{fixed(n / size, 2)} {unit}"


def size(n: float | None, digits: int = 1) -> str:
    """A number of bytes: 12 B, 3.4 MB."""
    if n is None:
        return "unknown"
    units = ("B", "KB", "MB", "GB", "TB", "PB")
    i = 0
    while n >= 1024 and i < len(units) - 1:
        n /= 1024
        i += 1
    return f"{fixed(n, digits - 1 if i == 0 else digits)} {units[i]}"


def apart(show: Callable[[float, int], str], a: float, b: float, digits: int = 1) -> tuple[str, str]:
    """Two numbers that a sentence compares, with as many more digits as tell them apart."""
    enough = next((d for d in range(digits, digits + 4) if show(a, d) != show(b, d)), digits)
    return show(a, enough), show(b, enough)


def keys(j: Join) -> str:
    """The equalities of a join, or what it has instead."""
    equal = " AND ".join(f"{a} = {b}" for a, b in zip(j.left_keys, j.right_keys, strict=True))
    return equal or (f"on {j.other_conjuncts}" if j.other_conjuncts else "no condition")


def join_name(j: Join) -> str:
    """A join as the subject of a sentence."""
    return f"Join {j.id} ({keys(j)})"


def strategy(j: Join) -> str:
    """What executes the join, as the plan has it."""
    name = j.strategy or (j.planned or "undecided")
    return name + (f", build {j.build}" if j.strategy and j.build else "")


def spark_alone(j: Join) -> str:
    """What Spark would have planned; empty if the report does not say."""
    if j.planned_by_spark or j.spark_strategy == strategy(j):
        return "the same"
    return j.spark_strategy or ""


def cost_of(a: Alternative) -> str:
    """What an alternative costs, or why it is ruled out, without its name."""
    if a.ruled_out:
        return f"ruled out, {a.ruled_out}"
    terms = ", ".join(f"{name} {size(b)}" for name, b in a.terms.items())
    impala = f", by Impala's formula {size(a.impala_cost_bytes)}" if a.impala_cost_bytes is not None else ""
    return f"costs {size(a.cost_bytes)}" + (f" ({terms})" if len(a.terms) > 1 else "") + impala


def cost(a: Alternative) -> str:
    """What an alternative costs, or why it is ruled out."""
    return f"{a.strategy}: {cost_of(a)}"


def factor(q: float | None) -> str:
    """How far an estimate was off: nothing up to a factor of 2."""
    return f", off {Decimal(fixed(q, 1)):,}x" if q is not None and q >= 2 else ""


def which(r: ReportData) -> str:
    """What tells the query from others, in one line: its SQL, its job description or where it was called."""
    e = r.execution
    return _sql(r) or " ".join(((e and (e.job_description or e.call_site)) or "").split())


def _sql(r: ReportData) -> str:
    """The SQL text in one line, without the lines that are comments."""
    lines = (line for line in (r.query.sql or "").splitlines() if not line.lstrip().startswith("--"))
    return " ".join(" ".join(lines).split())


def identity(r: ReportData) -> list[str]:
    """All that tells the query and its run from others."""
    q, e = r.query, r.execution
    lines = [
        f"{q.statement} by {q.user} in application {q.application}" + (f", database {q.database}" if q.database else "")
    ]
    if e:
        started = datetime.fromtimestamp(e.start_ms / 1000, timezone.utc).isoformat(" ", "milliseconds")
        lines.append(f"Started {started}" + (f", called by {e.call_site}" if e.call_site else ""))
        group = f"job group {e.job_group}" if e.job_group else ""
        lines += [", ".join(filter(None, (group, e.job_description)))] if group or e.job_description else []
    return lines + ([_sql(r)] if q.sql else [])


def state(r: ReportData) -> str:
    """Whether the query ran, and which run it was."""
    return r.state + (f" by {ran(r.execution)}" if r.execution else "")


def ran(e: Execution) -> str:
    """`count, query 12 of the SQL tab, 345 ms`."""
    return f"{e.action}, query {e.id} of the SQL tab, {e.duration_ms:,} ms"


def effect(f: Filter) -> str:
    """What a filter did, or is."""
    parts = []
    if f.build_keys is not None:
        parts.append(f"built from {amount(f.build_keys)} keys")
    if f.bytes:
        parts.append(size(f.bytes))
    if f.false_positive_rate:
        parts.append(f"{f.false_positive_rate:.2%} false positives")
    parts += _timing(f)
    if removed(f):
        parts.append(removed(f))
    if f.pushed == "rebuilt":
        parts.append("scan built again with it")
    if f.pushed == "query":
        parts.append("in the database's query")
    if f.not_pushed:
        parts.append(f"not told to the scan: {f.not_pushed.text}")
    if f.scan_rows is not None:
        parts.append(f"scan read {amount(f.scan_rows)} rows")
    if f.switched_off:
        parts.append(f"switched off {f.pauses} times for a while")
    return ", ".join(parts)


def _timing(f: Filter) -> list[str]:
    """When a filter was there."""
    parts = []
    if f.waited_ms is not None:
        parts.append(f"waited {f.waited_ms:,} ms")
    if f.arrived_ms is not None:
        parts.append(f"arrived {f.arrived_ms:,} ms after the scan began")
    if f.tasks_tested is not None and f.tasks_untested is not None and f.tasks_tested + f.tasks_untested:
        parts.append(f"tested by {f.tasks_tested} of {f.tasks_tested + f.tasks_untested} tasks")
    return parts


def removed(f: Filter) -> str:
    """What a filter removed, in short."""
    parts = []
    if f.rows_in:
        parts.append(f"removed {amount(f.rows_removed)} of {amount(f.rows_in)} rows")
    if f.row_groups_removed:
        parts.append(f"skipped {f.row_groups_removed} of {f.row_groups} row groups")
    if f.files is not None and f.files_read is not None and f.files_read < f.files:
        parts.append(f"read {f.files_read} of {f.files} files")
    return ", ".join(parts)


def saved(r: ReportData) -> str:
    """What the filters saved, in short; empty if that is nothing."""
    s = r.saved
    if s is None:
        return ""
    parts = [
        f"{amount(s.rows_not_read)} rows not read" if s.rows_not_read else "",
        f"{amount(s.rows_removed)} rows removed" if s.rows_removed else "",
        f"{size(s.bytes_not_shuffled)} not shuffled" if s.bytes_not_shuffled else "",
        f"{int(fixed(s.core_ms, 0)):,} ms of one core" if s.core_ms >= 1 else "",
    ]
    return ", ".join(filter(None, parts))


def filter_name(f: Filter) -> str:
    """`RF000[bloom] o_custkey <- c_custkey`."""
    kinds = f"[{', '.join(f.kinds)}]" if f.kinds else ""
    target = f"{f.target_table}.{f.target_column} <- " if f.target_column else ""
    return f"{f.id or 'none'}{kinds} {target}{f.source}"


def missing(r: ReportData) -> list[str]:
    """The tables whose rows are not known, and the join columns that were not counted, as warnings."""
    names = sorted({t.name or "?" for t in r.tables if t.rows is None})
    columns = sorted({f"{t.name or '?'}.{c}" for t in r.tables for c in t.missing_statistics if t.rows is not None})
    warnings = []
    if names:
        warnings.append(f"Tables without statistics: {', '.join(names)}.")
    if columns:
        warnings.append(f"Join columns without statistics: {', '.join(columns)}.")
    return warnings


def statements(r: ReportData) -> list[str]:
    """The SQL statements that collect what is missing."""
    return sorted({t.analyze for t in r.tables if t.analyze})


def sink(s: Sink) -> str:
    """Where a statement writes: `append: sales.orders (parquet), partitioned by day`."""
    target = s.table or s.path or "an unknown place"
    by = f", partitioned by {', '.join(s.partition_columns)}" if s.partition_columns else ""
    return f"{s.mode}: {target}" + (f" ({s.format})" if s.format else "") + by


def writes(r: ReportData) -> list[str]:
    """Where a statement writes, and where the values of each column come from; empty for a query."""
    if r.sink is None:
        return []
    columns = [f"{o.column} <- {', '.join(o.sources) or 'no table'}" for o in r.output]
    rows = [f"rows by {', '.join(r.predicate_sources)}"] if r.predicate_sources else []
    return [sink(r.sink), *columns, *rows]


def aggregate(a: Aggregate) -> str:
    """`partial: sum(price), count(1) by town`."""
    functions = [f.function if f.phase == a.phase else f"{f.phase} {f.function}" for f in a.functions]
    return f"{a.phase}: {', '.join(functions) or 'groups'}" + (f" by {', '.join(a.keys)}" if a.keys else "")


def read(t: Table) -> str:
    """What was read of a table; empty before the query ran."""
    parts = []
    if t.partitions is not None and t.partitions_read is not None:
        parts.append(f"{t.partitions_read} of {t.partitions} partitions")
    if t.files is not None and t.files_read is not None:
        parts.append(f"{t.files_read} of {t.files} files")
    if t.rows_read is not None:
        parts.append(f"{amount(t.rows_read)} rows")
    if t.tasks is not None:
        parts.append(f"by {t.tasks} task{'' if t.tasks == 1 else 's'}")
    return ", ".join(parts)


def scanned(t: Table) -> list[str]:
    """The conditions that a table is scanned with, those of runtime filters by their ids, and what a connector says."""
    kinds = (
        ("partitions", t.partition_filters),
        ("pushed", t.pushed_filters),
        ("runtime filters", t.runtime_filters),
        ("scan", (t.scan,) if t.scan else ()),
    )
    return [f"{what}: {', '.join(conditions)}" for what, conditions in kinds if conditions]


def observed(s: Side) -> str:
    """What a join's input had; its filters are part of the estimate that is compared."""
    first = s.estimated_rows
    other = first is not None and s.rows is not None and abs(first - s.rows) > 0.01 * s.rows
    return (
        f"observed {amount(s.observed_rows)}" + (f" of estimated {amount(first)}" if other else "") + factor(s.q_error)
    )


def conjunct(e: Conjunct) -> str:
    """A conjunct with its cost and the fraction of the rows that it retains."""
    retained = f"{e.selectivity:.1%} of the rows" if e.selectivity is not None else "an unknown part"
    return f"{e.condition} ({e.cost:.0f} ns, retains {retained})"
