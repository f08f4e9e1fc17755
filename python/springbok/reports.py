"""Strategy reports: what was decided about a query, why, and what it did."""

from __future__ import annotations

import copy
import json
import shutil
from dataclasses import asdict, dataclass, field, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok import _server, checks, markup
from springbok._jvm import spark_errors
from springbok.document import decoded
from springbok.errors import CheckFailed, SpringbokError
from springbok.model import ReportData
from springbok.settings import checked

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

# What `to_pandas` shows of parts with many fields.
_COLUMNS = {
    "joins": (
        *("id", "type", "left_keys", "right_keys", "strategy", "build", "distribution", "spark_strategy"),
        *("reason.code", "estimated_rows", "output_rows", "q_error"),
    ),
    "filters": (
        *("id", "join", "source", "target_table", "target_column", "status", "kinds", "reason.code"),
        *("expected_retained", "rows_in", "rows_removed", "row_groups_removed"),
    ),
    "tables": (
        *("name", "format", "bytes", "files", "rows", "rows_source", "missing_statistics"),
        *("runtime_filters", "files_read", "rows_read"),
    ),
}
_HEAD = ("query", "action", "ms", "joins", "filters used", "what")
_TEXT_ALONE = "Without a session, Java and Spark's jars make the page with the plan. Here is the text alone."
_NO_TEXT = "This report was saved without its text: save_html(path) makes its page."


@dataclass(frozen=True, kw_only=True)
class Report(ReportData):
    """The strategy report of one query: its data, and how it is shown."""

    _document: dict[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Parse the JVM's document.

        Raises:
            SpringbokError: the document has another version of the format.
        """
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> Report:
        """The same for a parsed document."""
        if d.get("version") != cls.FORMAT:
            raise SpringbokError(
                f"The report has format {d.get('version')} and this package reads {cls.FORMAT}: "
                "use the jar that this package carries."
            )
        return cls(**vars(decoded(ReportData, d)), _document=d)

    def to_dict(self) -> dict[str, Any]:
        """The whole document."""
        return copy.deepcopy(self._document)

    def to_json(self) -> str:
        """The whole document as JSON."""
        return json.dumps(self._document, indent=2)

    def to_pandas(self, part: str = "joins", *, all_columns: bool = False) -> pd.DataFrame:
        """One part (joins, filters, tables, fragments, ...) as a pandas DataFrame, nested fields as `left.rows`.

        Args:
            part: the part.
            all_columns: with all fields. Joins, filters and tables have only the usual ones otherwise.

        Raises:
            SpringbokError: pandas is not installed, or there is no such part.
        """
        pd = pandas()
        items = getattr(self, part, None)
        if not isinstance(items, tuple):
            parts = ", ".join(f.name for f in fields(self) if isinstance(getattr(self, f.name), tuple))
            raise SpringbokError(f"The report has no part {part!r}: choose among {parts}.")
        rows = [{part: i} if isinstance(i, str) else i if isinstance(i, dict) else asdict(i) for i in items]
        frame = pd.json_normalize(rows)
        return frame if all_columns or part not in _COLUMNS else frame.reindex(columns=_COLUMNS[part])

    def check(self, **conditions: Any) -> None:
        """Raise if the plan has what it must not have, for tests and builds.

        Args:
            conditions: among `max_broadcast` and `max_memory` (a size such as "1g"; of one broadcast, and of all joins
                on one executor), `max_q_error` (a factor), `no_cartesian`, `no_nested_loop`, `no_sort_merge`,
                `no_missing_statistics`, `hints_followed` and `no_failures` (true).

        Raises:
            CheckFailed: with a sentence for each violation.
            SpringbokError: there is no such condition, or its value cannot be read.
        """
        if found := checks.violations(self, conditions):
            raise CheckFailed(" ".join(found))

    def text(self, *, verbose: bool = False) -> str:
        """The report as text: what fits one screen, or with `verbose` everything."""
        if self.texts is None:
            return _NO_TEXT
        return self.texts.whole if verbose else self.texts.summary

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        number, action, ms, joins, used, what = _cells(self)
        run = f"query {number}, {action}, {ms} ms" if number else action
        return f"<Report {_cut(f'{run}, {joins} joins, {used} filters used' + (what and f': {what}'))}>"

    def _repr_html_(self) -> str:
        try:
            made = _server.html(self.to_json(), page=False)
        except SpringbokError:  # a notebook shows the text if nothing can make the page
            made = None
        return made or f"<pre>{escape(self.text())}</pre>"

    def save_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML page and return its path.

        A session's JVM makes the page. Without a session, as for a report from a file, a JVM that starts for it does.
        Where there is no Java or no Spark, the page has the text of the report alone.

        Raises:
            SpringbokError: the path cannot be written.
        """
        page = _server.html(self.to_json(), page=True) or _server.page_without_session(self.to_json())
        text = f"<p>{_TEXT_ALONE}</p><pre>{escape(self.text(verbose=True))}</pre>"
        return markup.write(Path(path), page or markup.page("Springbok strategy report", text))


def pandas() -> Any:
    """The package pandas.

    Raises:
        SpringbokError: it is not installed.
    """
    try:
        import pandas as pd
    except ImportError as e:
        raise SpringbokError("to_pandas() needs pandas: pip install pandas.") from e
    return pd


def width() -> int:
    """Characters of a line: as many as the terminal has, and 100 where there is none."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def report(
    df: DataFrame,
    *,
    observed: bool = False,
    executors: int | None = None,
    cores: int | None = None,
    executor_memory: str | int | None = None,
) -> Report:
    """The strategy report of a DataFrame; never runs it.

    After `df.collect()`, `df.toPandas()` or `df.toLocalIterator()` it holds what that run observed. `count()`, `show()`
    and writes plan a query of their own, which this DataFrame's report does not see.

    With `executors`, `cores` (of one executor) or `executor_memory` (such as "32g"), it says how the query would
    be planned on such a cluster. What is not given is taken from the running cluster.

    Args:
        df: any DataFrame that is not streaming, also one of Spark Connect.
        observed: report a run. If the DataFrame itself has not run, the report is that of the last `count()`, `show()`,
            write or other query of this session that ran its plan; `execution` says which.
        executors: number of executors of an imagined cluster.
        cores: cores of each.
        executor_memory: heap of each.

    Raises:
        SpringbokError: this is not a DataFrame, it is a streaming one, or it cannot be planned; the session is
            stopped, or has no Springbok; `observed` was given and the DataFrame has not run.
    """
    shape = {"executors": executors, "coresPerExecutor": cores, "executorMemory": executor_memory}
    imagined = checked({f"cluster_{name}": v for name, v in shape.items() if v is not None})
    if imagined and observed:
        raise SpringbokError("A plan for an imagined cluster has not run: leave out observed=True, or the cluster.")
    _server.check_query(df)
    with spark_errors():
        own = Report.from_json(_server.planned(df, imagined))
        if own.state == "executed" or not observed:
            return own
        other = _server.ran(df)
    if other is None:
        raise SpringbokError(
            "No finished run of this query is known: it has not run in this session, it failed, or newer queries took "
            "its place (spark.springbok.report.retained says how many are kept). Run df.collect() first, or take "
            "springbok.report(df) for the plan."
        )
    return Report.from_json(other)


class Reports(list[Report]):
    """Reports, which a shell and a notebook show as a table."""

    def __repr__(self) -> str:
        columns = zip(_HEAD, *map(_cells, self), strict=True)
        padded = ([cell.ljust(max(map(len, column))) for cell in column] for column in columns)
        lines = (_cut("  ".join(("", *line)).rstrip()) for line in zip(*padded, strict=True))
        return "\n".join(lines) if self else "no reports"


def _cells(r: Report) -> tuple[str, ...]:
    """A report in a few words: its run, its joins, its filters and its query."""
    e = r.execution
    run = (str(e.id), e.action, f"{e.duration_ms:,}") if e else ("", r.state, "")
    used = f"{sum(f.status == 'used' for f in r.filters)} of {sum(f.id is not None for f in r.filters)}"
    return *run, str(len(r.joins)), used, r.texts.query if r.texts else ""


def _cut(line: str) -> str:
    return line if len(line) <= (most := width()) else line[: most - 1] + "…"


def last_reports(spark: SparkSession, n: int = 10) -> Reports:
    """The reports of the last queries with joins that this session has finished, the newest first.

    They include SQL, `count()`, `show()` and writes. `spark.springbok.report.retained` says how many a session keeps.

    Raises:
        SpringbokError: the session is stopped, or has no Springbok; a negative number.
    """
    if n < 0:
        raise SpringbokError(f"last_reports takes the number of reports, from 0 on, and not {n}.")
    _server.check_session(spark)
    return Reports(Report.from_dict(d) for d in _server.last(spark, n))
