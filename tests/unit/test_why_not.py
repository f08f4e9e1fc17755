"""Answers of `why_not` on reports that are made up: which sentence, which numbers, which setting."""

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
    "spark.springbok.runtimeFilter.types": "IN,MINMAX,BLOOM",
    "spark.springbok.runtimeFilter.wait": "AUTO",
    "spark.springbok.runtimeFilter.inLimit": "1024",
}


def table(number: int, name: str, **more: Any) -> Table:
    qualified = more.pop("qualified_name", name)
    defaults = {"format": "Parquet", "bytes": 1, "rows_source": "analyzed", "source": "files", "rows": 100.0}
    return Table(id=number, name=name.split(".")[-1], qualified_name=qualified, **{**defaults, **more})


def buckets(n: int, *columns: str) -> Bucketing:
    return Bucketing(columns=columns, buckets=n)


def stored(n: int, column: str) -> dict[str, Any]:
    by = Transform(name="bucket", columns=(column,), arguments=(str(n),), text=f"bucket({n}, {column})")
    return {"source": "connector", "stored_by": (by,), "stored_partitions": n}


def side(number: int, rows: float, *columns: str) -> Side:
    columns_of = tuple(KeyColumn(table=number, column=c) for c in columns)
    return Side(rows_source="analyzed", partitioned=False, tables=(number,), keys=columns_of, rows=rows)


def join(left: Table, right: Table, *columns: str, **more: Any) -> Join:
    names = columns if more.get("other_conjuncts") is None else ()
    defaults = {"strategy": "sort-merge", "distribution": "partitioned"}
    return Join(
        id=0,
        type="INNER",
        left_keys=names,
        right_keys=names,
        condition=" AND ".join(f"{n} = {n}" for n in names),
        revised=False,
        planned_by_spark=False,
        left=side(left.id, 1000, *names),
        right=side(right.id, 10, *names),
        **{**defaults, **more},
    )


def report(tables: tuple[Table, ...], j: Join | None, *filters: Filter, **effective: str) -> ReportData:
    return ReportData(
        version=3,
        springbok="0",
        spark="4.2",
        state="executed",
        query=Query(statement="SELECT", user="me", application="app"),
        resources=Resources(
            executors=2, cores_per_executor=4, executor_heap_bytes=1, driver_heap_bytes=1, shuffle_partitions=200
        ),
        tables=tables,
        fragments=(),
        joins=(j,) if j else (),
        filters=filters,
        join_order=(),
        conjuncts=(),
        failures=(),
        settings={},
        strategies={},
        effective=EFFECTIVE | effective,
    )


A8 = table(0, "a.t", bucketing=buckets(8, "k"))
B4 = table(1, "b.u", bucketing=buckets(4, "k"))
PLAIN = table(1, "b.u")
CHOSEN = Reason(code="LOWEST_COST", text="sort-merge costs 1.0 KB")


def asked(left: Table, right: Table, what: str, **effective: str) -> str:
    return springbok.why_not(report((left, right), join(left, right, "k", reason=CHOSEN), **effective), what)


def test_a_distribution_has_both_layouts_and_the_reason_of_the_join() -> None:
    assert asked(A8, B4, "colocate") == (
        "Join 0 (k = k) is partitioned and not colocate because a.t has 8 buckets by k and b.u has 4 buckets by k, and "
        "it is a sort-merge join; LOWEST_COST: sort-merge costs 1.0 KB."
    )
    assert "a.t has 8 buckets by k and b.u is not bucketed" in asked(A8, PLAIN, "bucket shuffle")
    left, right = table(0, "c.db.t", **stored(8, "k")), table(1, "c.db.u", **stored(4, "k"))
    answer = asked(left, right, "colocate")
    assert "c.db.t is stored by bucket(8, k) in 8 partitions and c.db.u is stored by bucket(4, k) in 4" in answer
    j = join(A8, PLAIN, "k")
    several = replace(j, right=replace(j.right, keys=(KeyColumn(),)))
    assert "k is not read from one table" in springbok.why_not(report((A8, PLAIN), several), "colocate")


def test_the_setting_that_keeps_a_layout_from_being_used() -> None:
    for key, left in (
        ("spark.sql.sources.bucketing.enabled", A8),
        ("spark.sql.sources.v2.bucketing.enabled", table(0, "t", **stored(8, "k"))),
    ):
        assert f"({key} is false)" in asked(left, PLAIN, "colocate", **{key: "false"})
        assert f"({key} is false)" not in asked(left, PLAIN, "colocate")


def test_what_a_plan_has_or_cannot_have() -> None:
    colocated = replace(join(A8, A8, "k"), distribution="colocate")
    assert springbok.why_not(report((A8,), colocated), "bucket shuffle") == "It has: every join is colocate."
    assert asked(A8, PLAIN, "merge") == "It has: every join is a sort-merge join."
    pairs = join(A8, PLAIN, other_conjuncts="a < b", strategy="cartesian")
    assert "it has no equality" in springbok.why_not(report((A8, PLAIN), pairs), "colocate")
    assert springbok.why_not(report((A8,), None), "broadcast") == "The plan has no join."


@pytest.mark.parametrize(
    ("what", "alternative", "because"),
    [
        (
            "broadcast",
            Alternative(
                strategy="broadcast hash, build right",
                terms={},
                text="ruled out, BUILD_SIDE_TOO_BIG: the limit is 0 B [spark.springbok.limit]",
            ),
            "a broadcast hash join because build right: ruled out, BUILD_SIDE_TOO_BIG: the limit is "
            "0 B [spark.springbok.limit]; LOWEST_COST: sort-merge costs 1.0 KB.",
        ),
        (
            "hash",
            Alternative(strategy="shuffled hash, build right", terms={}, text="costs 2.0 KB"),
            "a shuffled hash join because build right: costs 2.0 KB; LOWEST_COST: sort-merge costs 1.0 KB.",
        ),
        (
            "cartesian",
            Alternative(strategy="sort-merge", terms={}, text="costs 1.0 KB"),
            "a cartesian join because LOWEST_COST: sort-merge costs 1.0 KB.",
        ),
    ],
)
def test_strategies(what: str, alternative: Alternative, because: str) -> None:
    j = join(A8, PLAIN, "k", alternatives=(alternative,), reason=CHOSEN)
    answer = springbok.why_not(report((A8, PLAIN), j), what)
    assert answer == f"Join 0 (k = k) is a sort-merge join and not {because}"


def test_a_join_without_a_reason() -> None:
    r = report((A8, PLAIN), join(A8, PLAIN, "k"))
    assert springbok.why_not(r, "hash").endswith("and not a shuffled hash join because Spark decided so.")
    noted = replace(r, note="Springbok left this query to Spark.")
    assert springbok.why_not(noted, "hash").endswith("because Springbok left this query to Spark.")


def filtered(**more: Any) -> Filter:
    kinds = more.get("kinds", ("bitmap",))
    defaults: dict[str, Any] = {
        "status": "used",
        "reason": Reason(code="USED", text="applied"),
        "id": "RF000",
        "name": f"RF000[{', '.join(kinds)}] t.k <- k",
        "effect": "built from 5,000 keys, 2.0 KB",
        "target_table": "t",
        "target_column": "k",
        "target_id": 0,
        "build_keys": 5000,
        "kinds": kinds,
        "timing": "waits",
    }
    return Filter(join=0, source="k", **{**defaults, **more})


def of_filter(what: str, f: Filter, **effective: str) -> str:
    return springbok.why_not(report((A8, PLAIN), join(A8, PLAIN, "k"), f, **effective), what)


def test_lists_of_keys() -> None:
    assert of_filter("in", filtered()) == (
        "RF000[bitmap] t.k <- k is used as bitmap and not as in because a list has at most 1,024 keys "
        "[spark.springbok.runtimeFilter.inLimit]: built from 5,000 keys, 2.0 KB."
    )
    told = filtered(build_keys=5, effect="built from 5 keys, not told to the scan: the key is computed")
    assert of_filter("in", told).endswith("not as in: built from 5 keys, not told to the scan: the key is computed.")
    off = of_filter("in", filtered(), **{"spark.springbok.runtimeFilter.types": "BLOOM"})
    assert off == "There is no in filter: spark.springbok.runtimeFilter.types is BLOOM, without IN."


def test_other_kinds() -> None:
    assert of_filter("min-max", filtered(kinds=("minmax",))).startswith("It has: RF000[minmax] t.k <- k is used")
    assert "is used as bitmap and not as bloom: built from 5,000 keys, 2.0 KB" in of_filter("bloom", filtered())
    reason = Reason(code="SMALL_BENEFIT", text="it would save about 3 ms; the least is 100 ms", setting="spark.x")
    declined = filtered(status="declined", kinds=(), reason=reason)
    for what in ("bloom", "filter"):
        assert of_filter(what, declined).endswith(
            "filter of join 0 from k is declined because SMALL_BENEFIT: it would save about 3 ms; the least is 100 ms "
            "[spark.x]."
        )


def test_late_filters() -> None:
    waits = of_filter("late", filtered(expected_idle_ms=12.0, expected_benefit_ms=340.0))
    assert waits == (
        "RF000[bitmap] t.k <- k is not late because waiting is expected to cost 12 ms of all cores and the filter to "
        "save 340 ms [spark.springbok.runtimeFilter.wait]."
    )
    assert "the broadcast of join 0" in of_filter("late", filtered(timing="local"))
    assert of_filter("late", filtered(timing="late")).startswith("It has: RF000")
    always = of_filter("late", filtered(), **{"spark.springbok.runtimeFilter.wait": "ALWAYS"})
    assert "spark.springbok.runtimeFilter.wait is ALWAYS" in always
    assert "is used because USED: applied" in of_filter("late", filtered(timing=None))


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
