"""Answers of `why_not` on reports that are made up: which sentence, which numbers, which statement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import springbok
from springbok.model import (
    Alternative,
    Bucketing,
    Filter,
    Join,
    KeyColumn,
    Query,
    Reason,
    ReportData,
    Resources,
    Side,
    Table,
    Transform,
)

EFFECTIVE = {
    "spark.sql.sources.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "true",
    "spark.sql.parquet.pushdown.inFilterThreshold": "10",
    "spark.springbok.runtimeFilter.types": "IN,MINMAX,BLOOM",
    "spark.springbok.runtimeFilter.wait": "AUTO",
    "spark.springbok.runtimeFilter.inLimit": "1024",
}


def table(number: int, name: str, **more: Any) -> Table:
    qualified = more.pop("qualified_name", name)
    defaults = {"format": "Parquet", "bytes": 1, "rows_source": "analyzed", "source": "files", "rows": 100.0}
    return Table(id=number, name=name.split(".")[-1], qualified_name=qualified, **{**defaults, **more})


def buckets(n: int, *columns: str) -> Bucketing:
    return Bucketing(columns, n)


def stored(n: int, column: str) -> dict[str, Any]:
    by = Transform("bucket", (column,), (str(n),), f"bucket({n}, {column})")
    return {"source": "connector", "stored_by": (by,), "stored_partitions": n}


def side(number: int, rows: float, *columns: str) -> Side:
    return Side("analyzed", False, (number,), tuple(KeyColumn(number, c) for c in columns), rows=rows)


def join(left: Table, right: Table, *columns: str, **more: Any) -> Join:
    names = columns if more.get("other_conjuncts") is None else ()
    defaults = {"strategy": "sort-merge", "distribution": "partitioned"}
    return Join(
        0,
        "INNER",
        names,
        names,
        False,
        False,
        side(left.id, 1000, *names),
        side(right.id, 10, *names),
        **{**defaults, **more},
    )


def report(tables: tuple[Table, ...], j: Join | None, *filters: Filter, **effective: str) -> ReportData:
    return ReportData(
        3,
        "0",
        "4.2",
        "executed",
        Query("SELECT", "me", "app"),
        Resources(2, 4, 1, 1, 200),
        tables,
        (),
        (j,) if j else (),
        filters,
        (),
        (),
        (),
        {},
        {},
        {},
        effective=EFFECTIVE | effective,
    )


A8 = table(0, "a.t", bucketing=buckets(8, "k"))
B4 = table(1, "b.u", bucketing=buckets(4, "k"))
PLAIN = table(1, "b.u")


def asked(left: Table, right: Table, what: str, **effective: str) -> str:
    return springbok.why_not(report((left, right), join(left, right, "k"), **effective), what)


def test_buckets_of_other_numbers_are_not_colocated() -> None:
    answer = asked(A8, B4, "colocate")
    assert answer == (
        "Join 0 (k = k) is partitioned and not colocate because a.t has 8 buckets by k and b.u has 4 buckets by k: the "
        "numbers differ. To get it: CREATE TABLE b.u_by_k USING parquet CLUSTERED BY (k) INTO 8 BUCKETS AS SELECT * "
        "FROM b.u."
    )


def test_a_table_without_buckets_gets_those_of_the_other() -> None:
    answer = asked(A8, PLAIN, "colocate")
    assert "a.t has 8 buckets by k and b.u is not bucketed" in answer
    assert "CREATE TABLE b.u_by_k USING parquet CLUSTERED BY (k) INTO 8 BUCKETS AS SELECT * FROM b.u" in answer
    neither = asked(table(0, "a.t"), PLAIN, "colocate")
    assert neither.count("INTO 200 BUCKETS") == 2 and "a.t is not bucketed and b.u is not bucketed" in neither
    # A view has no name in the catalog, and an expression no column.
    view = asked(A8, table(1, "u", qualified_name=None), "colocate")
    assert "To get it: u as a table CLUSTERED BY (k) INTO 8 BUCKETS." in view


def test_buckets_by_other_columns() -> None:
    answer = asked(A8, table(1, "b.u", bucketing=buckets(8, "x")), "colocate")
    assert "b.u has 8 buckets by x, which is not by the join's keys k" in answer
    # A part of the keys serves where Spark allows it.
    j = join(A8, table(1, "b.u", bucketing=buckets(8, "k")), "k", "g")
    both = (A8, table(1, "b.u", bucketing=buckets(8, "k")))
    assert "is not by the join's keys k and g" in springbok.why_not(report(both, j), "colocate")
    part = report(both, j, **{"spark.sql.requireAllClusterKeysForCoPartition": "false"})
    assert "not by the join's keys" not in springbok.why_not(part, "colocate")


def test_bucketing_that_is_switched_off() -> None:
    off = {"spark.sql.sources.bucketing.enabled": "false"}
    for what in ("colocate", "bucket shuffle"):
        answer = asked(A8, B4, what, **off)
        assert "but spark.sql.sources.bucketing.enabled is false" in answer
        assert "To get it: SET spark.sql.sources.bucketing.enabled=true." in answer


def test_storage_partitioned_tables() -> None:
    left, right = table(0, "c.db.t", **stored(8, "k")), table(1, "c.db.u", **stored(4, "k"))
    answer = asked(left, right, "colocate")
    assert "c.db.t is stored by bucket(8, k) in 8 partitions and c.db.u is stored by bucket(4, k) in 4" in answer
    assert "CREATE TABLE c.db.t_by_k PARTITIONED BY (bucket(200, k)) AS SELECT * FROM c.db.t" in answer
    off = asked(left, right, "colocate", **{"spark.sql.sources.v2.bucketing.enabled": "false"})
    assert "SET spark.sql.sources.v2.bucketing.enabled=true" in off
    silent = asked(table(0, "c.db.t", **(stored(8, "k") | {"stored_partitions": None})), right, "colocate")
    assert "by bucket(8, k), and its scan reports no partitions" in silent and "preserve-data-grouping=true" in silent
    assert "spark.sql.sources.v2.bucketing.shuffle.enabled=true" in asked(left, PLAIN, "bucket shuffle")


def test_a_layout_that_costs_more_than_a_broadcast() -> None:
    right = table(1, "b.u", bucketing=buckets(8, "k"))
    merge, broadcast = Alternative("sort-merge", {}, 4096.0), Alternative("broadcast hash, build right", {}, 1024.0)
    j = join(
        A8,
        right,
        "k",
        strategy="broadcast hash",
        build="right",
        distribution="broadcast",
        alternatives=(merge, broadcast),
    )
    answer = springbok.why_not(report((A8, right), j), "colocate")
    assert "a sort-merge join, which uses it, would cost 4.0 KB and the chosen one 1.0 KB" in answer
    assert "To get it: the hint /*+ MERGE(t) */." in answer


def test_bucket_shuffle() -> None:
    answer = asked(table(0, "a.t"), PLAIN, "bucket shuffle")
    assert "To get it: CREATE TABLE a.t_by_k USING parquet CLUSTERED BY (k) INTO 200 BUCKETS" in answer
    colocated = replace(join(A8, A8, "k"), distribution="colocate")
    assert springbok.why_not(report((A8,), colocated), "bucket shuffle") == "It has: every join is colocate."
    pairs = join(A8, PLAIN, other_conjuncts="a < b", strategy="cartesian")
    assert "it has no equality" in springbok.why_not(report((A8, PLAIN), pairs), "colocate")


def ruled_out(strategy: str, code: str, text: str, setting: str | None = None, **args: Any) -> Alternative:
    return Alternative(strategy, {}, ruled_out=Reason(code, text, setting, args))


@pytest.mark.parametrize(
    ("what", "alternative", "because", "suggestion"),
    [
        (
            "broadcast",
            ruled_out(
                "broadcast hash, build right",
                "BUILD_SIDE_TOO_BIG",
                "the build side may take 3.4 MB, the limit is 0 B",
                "spark.springbok.join.broadcastBytesLimit",
                bytes=3.4 * 2**20,
            ),
            "the build side may take 3.4 MB, the limit is 0 B (BUILD_SIDE_TOO_BIG",
            "SET spark.springbok.join.broadcastBytesLimit=4m",
        ),
        (
            "broadcast",
            ruled_out("broadcast hash, build right", "SIZE_UNKNOWN", "the size of the build side is unknown"),
            "the size of the build side is unknown",
            "ANALYZE TABLE b.u COMPUTE STATISTICS",
        ),
        ("hash", Alternative("shuffled hash, build right", {}, 2048.0), "cost 2.0 KB (build right)", "SHUFFLE_HASH(u)"),
        (
            "cartesian",
            ruled_out("cartesian", "COMPARES_EVERY_PAIR", "it would compare 10000 pairs of rows"),
            "10000 pairs",
            "the hint /*+ SHUFFLE_REPLICATE_NL(t) */",
        ),
        (
            "nested loop",
            ruled_out(
                "broadcast nested loop, build left", "COMPARES_EVERY_PAIR", "it would compare 10000 pairs of rows"
            ),
            "10000 pairs",
            None,
        ),
    ],
)
def test_strategies(what: str, alternative: Alternative, because: str, suggestion: str | None) -> None:
    unknown = replace(PLAIN, rows=None, analyze="ANALYZE TABLE b.u COMPUTE STATISTICS")
    j = join(A8, unknown, "k", alternatives=(alternative,))
    answer = springbok.why_not(report((A8, unknown), j), what)
    assert because in answer
    if suggestion:
        assert "To get it: " in answer and suggestion in answer
    else:
        assert "To get it" not in answer
    # One sentence before the suggestion.
    assert answer.partition(" To get it")[0].count(". ") == 0


def filtered(**more: Any) -> Filter:
    defaults: dict[str, Any] = {
        "status": "used",
        "reason": Reason("USED", "applied"),
        "id": "RF000",
        "target_table": "t",
        "target_column": "k",
        "target_id": 0,
        "build_keys": 5000,
        "kinds": ("bitmap",),
        "timing": "waits",
    }
    return Filter(0, "k", **{**defaults, **more})


def of_filter(what: str, f: Filter, **effective: str) -> str:
    return springbok.why_not(report((A8, PLAIN), join(A8, PLAIN, "k"), f, **effective), what)


def test_lists_of_keys() -> None:
    assert "it has 5,000 keys, and a list has at most 1,024" in of_filter("in", filtered())
    assert "To get it: SET spark.springbok.runtimeFilter.inLimit=5000." in of_filter("in", filtered())
    few = filtered(build_keys=50, kinds=("ranges",), pushed="files")
    assert "columns of files are compared with at most 10" in of_filter("in", few)
    told = filtered(build_keys=5, not_pushed=Reason("NO_SCAN_COLUMN", "the key is computed"))
    assert "the scan was not told of its 5 keys: the key is computed (NO_SCAN_COLUMN)" in of_filter("in", told)
    off = of_filter("in", filtered(), **{"spark.springbok.runtimeFilter.types": "BLOOM"})
    assert "IN is not among the 1 kinds" in off and "SET spark.springbok.runtimeFilter.types=BLOOM,IN" in off


def test_other_kinds() -> None:
    assert of_filter("min-max", filtered(kinds=("minmax",))).startswith("It has: RF000[minmax]")
    bloom = of_filter("bloom", filtered(bytes=2048))
    assert "a bitmap of 2.0 KB is exact" in bloom and "types=MINMAX,BLOOM" in bloom
    reason = Reason("SMALL_BENEFIT", "it would save about 3 ms; the least is 100 ms", "spark.x")
    declined = of_filter("bloom", filtered(status="declined", kinds=(), reason=reason))
    assert "is declined: it would save about 3 ms" in declined
    assert declined.endswith("To get it: the hint /*+ RUNTIME_FILTER_TARGET(t) */.")


def test_late_filters() -> None:
    waits = of_filter("late", filtered(expected_idle_ms=12.0, expected_benefit_ms=340.0))
    assert "waiting for it is expected to cost 12 ms of all cores, and the filter to save 340 ms" in waits
    assert waits.endswith("To get it: SET spark.springbok.runtimeFilter.wait=NEVER.")
    assert "the broadcast of join 0" in of_filter("late", filtered(timing="local"))
    assert of_filter("late", filtered(timing="late")).startswith("It has: RF000")
    assert "its keys are known from an earlier query" in of_filter("late", filtered(timing="known"))
    always = of_filter("late", filtered(), **{"spark.springbok.runtimeFilter.wait": "ALWAYS"})
    assert "spark.springbok.runtimeFilter.wait is ALWAYS" in always


def test_tables_of_one_name() -> None:
    a, b = table(0, "a.t", bucketing=buckets(8, "k")), table(1, "`b-2`.t")
    r = report((a, b), join(a, b, "k"))
    with pytest.raises(
        springbok.SpringbokError, match=r"'t' is the name of several tables: ask for one of `b-2`.t, a.t"
    ):
        springbok.why_not(r, "colocate", table="t")
    assert "a.t has 8 buckets" in springbok.why_not(r, "colocate", table="a.t")
    assert "Join 0" in springbok.why_not(r, "colocate", table="`b-2`.T")
    f = filtered(target_id=1)
    both = replace(r, filters=(f,))
    assert springbok.why_not(both, "filter", table="`b-2`.t").startswith("It has: RF000")
    assert springbok.why_not(both, "filter", table="a.t").startswith("There is no runtime filter on a.t")
    with pytest.raises(springbok.SpringbokError, match=r"reads no table 'c.t'; it reads `b-2`.t, a.t"):
        springbok.why_not(r, "colocate", table="c.t")


def test_an_unknown_word() -> None:
    with pytest.raises(springbok.SpringbokError) as e:
        springbok.why_not(report((A8,), None), "teleport")
    assert str(e.value) == (
        "'teleport' is neither a distribution, nor a strategy, nor a filter: ask for colocate, bucket shuffle, "
        "broadcast, hash, merge, nested loop, cartesian, filter, in, min-max, bloom, bitmap, late."
    )
    for word in ("Bucket_Shuffle", "minmax", "sort-merge", "broadcast hash"):
        assert springbok.why_not(report((A8,), None), word)


def test_the_hint_of_a_filter_whose_target_is_not_known() -> None:
    left, right = table(0, "facts"), table(1, "dates")
    reason = Reason("SMALL_BENEFIT", "it would save about 3 ms")
    declined = Filter(0, "k", status="declined", reason=reason)

    def answer(j: Join, about: str | None = None) -> str:
        return springbok.why_not(report((left, right), j, declined), "filter", about)

    # Both sides have a key of this name: the build side, or who asks, tells which one is meant.
    assert "RUNTIME_FILTER_TARGET(facts)" in answer(join(left, right, "k", build="right"))
    assert "RUNTIME_FILTER_TARGET(dates)" in answer(join(left, right, "k", build="left"))
    assert "RUNTIME_FILTER_TARGET(dates)" in answer(join(left, right, "k"), "dates")
    assert "RUNTIME_FILTER_TARGET" not in answer(join(left, right, "k"))
    other = replace(join(left, right, "k"), right_keys=("day",))
    assert "RUNTIME_FILTER_TARGET(dates)" in answer(other)


def test_costs_that_differ_do_not_look_equal() -> None:
    costs = (Alternative("shuffled hash, build right", {}, 2050.0), Alternative("sort-merge", {}, 2040.0))
    j = join(A8, PLAIN, "k", alternatives=costs)
    assert "would cost 2.00 KB (build right) and the chosen one 1.99 KB" in springbok.why_not(
        report((A8, PLAIN), j), "hash"
    )
