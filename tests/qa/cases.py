"""Small statements of which each leads to other reasons, for recordings of decisions that fit into the repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLES = {
    "fact": "SELECT id AS k, id % 100 AS d, id % 7 AS g, concat('it makes the row wide ', id) AS t FROM range(200000)",
    "mid": "SELECT id * 10 AS k, id % 50 AS v, CAST(id % 30 AS STRING) AS s FROM range(20000)",
    "dim": "SELECT id AS d, id % 10 AS g, concat('name ', id) AS name FROM range(100)",
    "tiny": "SELECT id AS k, IF(id = 3, NULL, id) AS n FROM range(10)",
}

_SPRINGBOK = "spark.springbok."
_REORDER = {
    _SPRINGBOK + "reorder.minGain": "0.001",
    _SPRINGBOK + "reorder.minGainMs": "0",
    _SPRINGBOK + "runtimeFilter.mode": "OFF",
}
_THREE = "fact f JOIN mid m ON f.k = m.k JOIN dim d ON f.d = d.d"

CASES: dict[str, list[tuple[dict[str, str], str]]] = {
    "joins": [
        ({}, "SELECT count(*), max(t) FROM fact JOIN dim USING (d)"),
        ({}, "SELECT /*+ MERGE(m) */ count(*) FROM fact f JOIN mid m ON f.k = m.k"),
        ({}, "SELECT /*+ SHUFFLE(d) */ count(*) FROM fact f JOIN dim d ON f.d = d.d"),
        ({}, "SELECT /*+ BROADCAST(f) */ count(*) FROM fact f FULL JOIN mid m ON f.k = m.k"),
        ({}, "SELECT count(*) FROM fact f JOIN fact g ON f.k = g.k"),
        ({}, "SELECT count(*) FROM fact f LEFT JOIN mid m ON f.k = m.k"),
        ({}, "SELECT count(*) FROM fact f JOIN lines l ON f.k = l.k"),
        ({}, "SELECT count(*) FROM fact WHERE d NOT IN (SELECT n FROM tiny)"),
        ({}, "SELECT count(*) FROM dim d JOIN tiny t ON d.d < t.k"),
        ({}, "SELECT /*+ COALESCE(1) */ f.k FROM fact f JOIN dim d ON f.d = d.d WHERE f.k < 9"),
        ({}, "SELECT count(*) FROM parted f JOIN dim d ON f.d = d.d WHERE d.g = 3"),
        (
            {},
            "SELECT count(*) FROM fact f JOIN (SELECT d, max(t) AS m FROM fact GROUP BY d) m ON f.d = m.d AND t > m",
        ),
        ({}, "SELECT count(*) FROM fact f JOIN dim d ON f.d = d.d JOIN dim e ON f.g = e.d"),
        ({_SPRINGBOK + "join.enabled": "false"}, "SELECT count(*) FROM fact f JOIN dim d ON f.d = d.d"),
        ({_SPRINGBOK + "planning.budget": "0.25"}, "SELECT count(*) FROM dim d JOIN tiny t ON d.d = t.k"),
        ({"spark.sql.join.preferSortMergeJoin": "true"}, "SELECT count(*) FROM fact f JOIN mid m ON f.k = m.k"),
    ],
    "filters": [
        ({}, "SELECT count(*) FROM fact f JOIN dim d ON f.d = d.d WHERE d.g = 3"),
        ({}, "SELECT /*+ SHUFFLE(m) */ count(*), max(f.t) FROM fact f JOIN mid m ON f.k = m.k WHERE m.v = 3"),
        ({}, "SELECT /*+ NO_RUNTIME_FILTER_TARGET(f) */ count(*) FROM fact f JOIN mid m ON f.k = m.k WHERE m.v = 3"),
        ({}, "SELECT count(*) FROM fact f LEFT JOIN mid m ON f.k = m.k AND m.v = 3"),
        ({}, "SELECT count(*) FROM (SELECT k + rand(1) AS k FROM fact) f JOIN mid m ON f.k = m.k WHERE m.v = 3"),
        ({}, "SELECT count(*) FROM fact f JOIN (SELECT * FROM mid WHERE rand(1) < 0.1) m ON f.k = m.k"),
        ({}, "SELECT count(*) FROM (SELECT * FROM fact LIMIT 5000) f JOIN mid m ON f.k = m.k WHERE m.v = 3"),
        ({}, "SELECT count(*) FROM parted f JOIN dim d ON f.d = d.d WHERE d.g = 3"),
        ({}, "SELECT /*+ MERGE(g) */ count(*) FROM mid f JOIN mid g ON f.k = g.k"),
        (
            {_SPRINGBOK + "runtimeFilter.mode": "OFF"},
            "SELECT count(*) FROM fact f JOIN mid m ON f.k = m.k WHERE m.v = 3",
        ),
        (
            {_SPRINGBOK + "runtimeFilter.maxNumber": "0"},
            "SELECT count(*) FROM fact f JOIN mid m ON f.k = m.k WHERE m.v = 3",
        ),
        (
            {_SPRINGBOK + "runtimeFilter.wait": "AUTO"},
            "SELECT /*+ MERGE(m) */ count(*) FROM fact f JOIN mid m ON f.k = m.k WHERE m.v < 9",
        ),
    ],
    "others": [
        ({}, "SELECT count(*) FROM fact f JOIN mid m ON array(f.k) = array(m.k) WHERE m.v = 3"),
        (
            {},
            "SELECT count(*) FROM fact f JOIN (SELECT /*+ REPARTITION(3) */ k FROM mid WHERE rand() < 2) m USING (k)",
        ),
        (
            {_SPRINGBOK + "runtimeFilter.wait": "NEVER", _SPRINGBOK + "runtimeFilter.types": "IN"},
            "SELECT /*+ MERGE(m) */ count(*) FROM fact f JOIN mid m ON f.k = m.k WHERE m.v = 3",
        ),
        (
            {_SPRINGBOK + "runtimeFilter.maxBroadcastKeys": "0"},
            "SELECT count(*) FROM fact f JOIN dim d ON f.d = d.d WHERE d.g = 3",
        ),
        ({}, "SELECT count(*) FROM fact f JOIN (SELECT k, repeat(s, v) AS r FROM mid) m ON f.k = m.k AND f.t > r"),
        (
            {
                _SPRINGBOK + "planning.budget": "0.25",
                _SPRINGBOK + "cluster.executors": "1",
                _SPRINGBOK + "cluster.coresPerExecutor": "1",
            },
            "SELECT count(*) FROM dim d JOIN tiny t ON d.d = t.k",
        ),
        ({}, "SELECT count(*) FROM fact f JOIN mid m ON f.k = m.k JOIN dim d ON m.v = d.d WHERE d.d = 4"),
        ({_SPRINGBOK + "failIn": "ChooseJoinStrategy"}, "SELECT count(*) FROM dim d JOIN tiny t ON d.d = t.k"),
    ],
    "orders": [
        (
            _REORDER,
            "SELECT count(*), max(f.t) FROM fact f JOIN mid m ON f.k = m.k JOIN dim d ON m.v = d.d WHERE d.d = 4",
        ),
        (_REORDER, f"SELECT count(*) FROM dim WHERE d < (SELECT count(*) FROM {_THREE} WHERE m.v = 4)"),
        (_REORDER, f"SELECT count(*), max(f.t) FROM {_THREE} WHERE d.g < 3 AND m.v = 4"),
        (_REORDER, f"SELECT count(*), max(f.t) FROM {_THREE} WHERE d.g < 3 AND m.v < 30"),
        (_REORDER, f"SELECT /*+ MERGE(m) */ count(*) FROM {_THREE} WHERE m.v = 4"),
        (_REORDER, f"SELECT f.k FROM {_THREE} WHERE m.v = 4 AND f.k < 9 LIMIT 5"),
        (_REORDER, "SELECT count(*) FROM fact f JOIN lines l ON f.k = l.k JOIN dim d ON f.d = d.d WHERE d.g = 3"),
        (_REORDER, f"SELECT count(*) FROM {_THREE} AND f.g + d.g > 3 WHERE m.v = 4"),
        (_REORDER, "SELECT count(*) FROM parted f JOIN dim d ON f.d = d.d JOIN tiny t ON f.k = t.k WHERE d.g = 3"),
        ({**_REORDER, _SPRINGBOK + "reorder.minGain": "0.9"}, f"SELECT count(*) FROM {_THREE} WHERE m.v = 4"),
    ],
    "conjuncts": [
        ({}, "SELECT count(*) FROM fact WHERE t LIKE '%9%8%7%' AND g = 3"),
        ({}, "SELECT count(*) FROM fact WHERE t LIKE '%9%8%7%' AND 7 / g > 2 AND g > 0 AND d = 4"),
    ],
}
"""The settings and the SQL of each statement, by recording."""


def load(spark: SparkSession, folder: Path) -> SparkSession:
    """A session of its own with the tables of the statements."""
    own = spark.newSession()
    for name, sql in _TABLES.items():
        own.sql(sql).coalesce(1).write.parquet(str(folder / name))
    own.sql(_TABLES["fact"]).where("k < 5000").repartition("d").write.partitionBy("d").parquet(str(folder / "parted"))
    for name in (*_TABLES, "parted"):
        own.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    own.sql(_TABLES["mid"]).coalesce(1).write.csv(str(folder / "lines"), compression="gzip")
    own.read.schema("k LONG, v LONG, s STRING").csv(str(folder / "lines")).createOrReplaceTempView("lines")
    return own
