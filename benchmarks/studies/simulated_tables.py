"""Tables of TPC-DS at a large scale, of which only the footers are written.

Rows are those of the specification. Each table has as many files of 256 MB as it would have. Their Parquet footers have
the row groups, sizes, nulls and ranges of the scale. The columns themselves are holes of sparse files, except in the
first and the last file: these hold the rows of a small scale, because planning reads samples of their values.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Rows at the scales 1, 1,000 and 10,000: table 3-2 of the specification.
SCALES = (1, 1_000, 10_000)
ROWS = {
    "call_center": (6, 42, 54),
    "catalog_page": (11_718, 30_000, 40_000),
    "catalog_returns": (144_067, 143_996_756, 1_440_033_112),
    "catalog_sales": (1_441_548, 1_439_980_416, 14_399_964_710),
    "customer": (100_000, 12_000_000, 65_000_000),
    "customer_address": (50_000, 6_000_000, 32_500_000),
    "customer_demographics": (1_920_800, 1_920_800, 1_920_800),
    "date_dim": (73_049, 73_049, 73_049),
    "household_demographics": (7_200, 7_200, 7_200),
    "income_band": (20, 20, 20),
    "inventory": (11_745_000, 783_000_000, 1_311_525_000),
    "item": (18_000, 300_000, 402_000),
    "promotion": (300, 1_500, 2_000),
    "reason": (35, 65, 70),
    "ship_mode": (20, 20, 20),
    "store": (12, 1_002, 1_500),
    "store_returns": (287_514, 287_999_764, 2_879_970_104),
    "store_sales": (2_880_404, 2_879_987_999, 28_799_983_563),
    "time_dim": (86_400, 86_400, 86_400),
    "warehouse": (5, 20, 25),
    "web_page": (60, 3_000, 4_002),
    "web_returns": (71_763, 71_997_522, 720_020_485),
    "web_sales": (719_384, 720_000_376, 7_199_963_324),
    "web_site": (30, 54, 78),
}
# The table whose rows a column numbers, by the end of the column's name.
_NUMBERED = {
    "_customer_sk": "customer",
    "_cdemo_sk": "customer_demographics",
    "_addr_sk": "customer_address",
    "_address_sk": "customer_address",
    "_item_sk": "item",
    "_store_sk": "store",
    "_promo_sk": "promotion",
    "_warehouse_sk": "warehouse",
    "_call_center_sk": "call_center",
    "_catalog_page_sk": "catalog_page",
    "_page_sk": "web_page",
    "_site_sk": "web_site",
    "_reason_sk": "reason",
    "_ticket_number": "store_sales",
    "_order_number": "web_sales",
}
_FILE, _GROUP = 256 << 20, 64 << 20
# Files of a table that differ; the others are hard links of these.
_DIFFERENT = 32
_MAGIC = b"PAR1"


# The smallest and the largest value of a column in so many rows that come after so many others.
_Range = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True)
class _Table:
    """A table at its scale, with the file and the row groups of the small scale."""

    name: str
    rows: int
    meta: Any
    stored: bytes
    columns: dict[str, int]
    ranges: dict[str, _Range]

    @property
    def base_rows(self) -> int:
        return int(self.meta.getNum_rows())

    @property
    def row_bytes(self) -> float:
        return len(self.stored) / self.base_rows

    def files(self) -> Iterator[tuple[int, bool]]:
        """The rows of each file, and whether it holds them."""
        last = min(self.base_rows, max(0, self.rows - self.base_rows))
        between = max(0, self.rows - self.base_rows - last)
        yield min(self.rows, self.base_rows), True
        yield from ((n, False) for n in _even(between, between * self.row_bytes / _FILE))
        if last:
            yield last, True

    def groups(self, rows: int, real: bool) -> Iterator[tuple[int, int]]:
        """The row groups of a file: which one of the small scale each is like, and how many rows it has."""
        if not real:
            yield from ((0, n) for n in _even(rows, rows * self.row_bytes / _GROUP))
            return
        for i, g in enumerate(self.meta.getRow_groups()):
            n = min(rows, int(g.getNum_rows()))
            if n > 0:
                yield i, n
            rows -= n


class Writer:
    """Writes the tables of a scale."""

    def __init__(self, spark: SparkSession, base: Path) -> None:
        """Take the rows from a folder with a Parquet file for each table, of a small scale."""
        jvm: Any = spark._jvm
        self._java = jvm.java
        self._parquet = jvm.org.apache.parquet.format
        self._base = {name: self._read(base / f"{name}.parquet") for name in ROWS}
        self._alike: dict[tuple[int, int, bool], Any] = {}

    def write(self, target: Path, scale: int, names: Iterable[str] = ROWS) -> None:
        """A folder for each table; those that exist are kept."""
        for name in names:
            if not (target / name).exists():
                part = target / f"{name}.part"
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir(parents=True)
                self._alike.clear()
                self._write(self._table(name, SCALES.index(scale)), part)
                part.rename(target / name)

    def _read(self, path: Path) -> tuple[Any, bytes]:
        """A file's footer, and what stands before it."""
        file = path.read_bytes()
        begin = len(file) - 8 - int.from_bytes(file[-8:-4], "little")
        return self._parquet.Util.readFileMetaData(self._java.io.ByteArrayInputStream(file[begin:-8])), file[:begin]

    def _table(self, name: str, scale: int) -> _Table:
        meta, stored = self._base[name]
        chunks = [c.getMeta_data() for c in meta.getRow_groups()[0].getColumns()]
        columns = {str(c.getPath_in_schema()[0]): i for i, c in enumerate(chunks)}
        rows, date, first = ROWS[name][scale], data.FACTS["tpcds"].get(name), next(iter(columns))
        ranges: dict[str, _Range] = {}
        for column, i in columns.items():
            numbered = next((t for end, t in _NUMBERED.items() if column.endswith(end)), None)
            growth = ROWS[numbered][scale] / self._base[numbered][0].getNum_rows() if numbered else 1
            if column == date or growth > 1 or (column == first and not date):
                ends = [_ends(g.getColumns()[i].getMeta_data()) for g in meta.getRow_groups()]
                low, high = min(e[0] for e in ends), max(e[1] for e in ends)
                if column == date:
                    ranges[column] = _sorted(low, high, rows)
                else:
                    ranges[column] = _whole(low, high, growth) if date or column != first else _dense(low)
        return _Table(name, rows, meta, stored, columns, ranges)

    def _write(self, t: _Table, folder: Path) -> None:
        files, done = list(t.files()), 0
        written: dict[tuple[int, int], Path] = {}
        for i, (rows, real) in enumerate(files):
            path = folder / f"part-{i:06d}.parquet"
            alike = i * _DIFFERENT // len(files), rows
            if alike in written and not real:
                path.hardlink_to(written[alike])
            else:
                footer = self._footer(t, rows, real, done)
                with path.open("wb") as f:
                    f.write(t.stored if real else _MAGIC)
                    f.seek(max(f.tell(), int(rows * t.row_bytes) * (not real)))
                    f.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)
                if not real:
                    written[alike] = path
            done += rows

    def _footer(self, t: _Table, rows: int, real: bool, done: int) -> bytes:
        meta = t.meta.deepCopy()
        meta.setNum_rows(rows)
        meta.setRow_groups(self._java.util.ArrayList())
        for i, n in t.groups(rows, real):
            group = self._group(t, i, n, real).deepCopy()
            for column in [c for c, ends in t.ranges.items() if ends(0, 1) != ends(t.rows - 1, 1)]:
                self._set_range(group, t, column, t.ranges[column](done, n))
            meta.addToRow_groups(group)
            done += n
        out = self._java.io.ByteArrayOutputStream()
        self._parquet.Util.writeFileMetaData(meta, out)
        return bytes(out.toByteArray())

    def _group(self, t: _Table, i: int, rows: int, real: bool) -> Any:
        """A row group of the small scale with so many rows, and with the ranges of the scale."""
        if (i, rows, real) not in self._alike:
            self._alike[i, rows, real] = group = t.meta.getRow_groups()[i].deepCopy()
            by = 1.0 if real else rows / group.getNum_rows()
            group.setNum_rows(rows)
            group.setTotal_byte_size(int(group.getTotal_byte_size() * by))
            for c in group.getColumns() if by != 1 else ():
                m = c.getMeta_data()
                m.setNum_values(rows)
                m.setTotal_compressed_size(int(m.getTotal_compressed_size() * by) + 1)
                m.setTotal_uncompressed_size(int(m.getTotal_uncompressed_size() * by) + 1)
                m.getStatistics().setNull_count(int(m.getStatistics().getNull_count() * by))
            for column, ends in t.ranges.items():
                self._set_range(group, t, column, ends(0, rows))
        return self._alike[i, rows, real]

    def _set_range(self, group: Any, t: _Table, column: str, ends: tuple[int, int]) -> None:
        m = group.getColumns()[t.columns[column]].getMeta_data()
        size = 4 if str(m.getType()) == "INT32" else 8
        low, high = (min(e, 2 ** (8 * size - 1) - 1).to_bytes(size, "little", signed=True) for e in ends)
        statistics = m.getStatistics()
        statistics.setMin_value(low)
        statistics.setMax_value(high)
        statistics.setMin(low)
        statistics.setMax(high)
        # The dictionary of the small scale says nothing of the values that there would be.
        m.unsetDictionary_page_offset()
        m.unsetEncoding_stats()
        m.setEncodings(self._java.util.ArrayList())
        m.addToEncodings(self._parquet.Encoding.PLAIN)


def _even(rows: int, parts: float) -> Iterator[int]:
    """The rows in so many parts, rounded up, all equal but the last."""
    if rows:
        each = math.ceil(rows / math.ceil(parts))
        yield from [each] * ((rows - 1) // each)
        yield rows - (rows - 1) // each * each


def _ends(column: Any) -> tuple[int, int]:
    s = column.getStatistics()
    low, high = (int.from_bytes(bytes(b), "little", signed=True) for b in (s.getMin_value(), s.getMax_value()))
    return low, high


def _sorted(low: int, high: int, rows: int) -> _Range:
    """Of a column by which the table is sorted, with equally many rows for each value."""
    return lambda done, n: (low + (high - low) * done // rows, low + (high - low) * (done + n) // rows)


def _dense(low: int) -> _Range:
    """Of a column that numbers the rows."""
    return lambda done, n: (low + done, low + done + n - 1)


def _whole(low: int, high: int, growth: float) -> _Range:
    """Of a column with values from all of a range that has grown."""
    return lambda done, n: (low, low + round((high - low + 1) * growth) - 1)
