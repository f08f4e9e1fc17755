"""The tables of the Star Schema Benchmark, derived from TPC-H as in its paper."""

from __future__ import annotations

_CITY = "rpad(left(n_name, 9), 9, ' ') || (hash({key}) % 10)"
_PLACE = "JOIN nation ON n_nationkey = {prefix}_nationkey JOIN region ON r_regionkey = n_regionkey"

_TABLES = {
    "date": """
        SELECT CAST(strftime(d, '%Y%m%d') AS INT) AS d_datekey, strftime(d, '%B %-d, %Y') AS d_date,
               dayname(d) AS d_dayofweek, monthname(d) AS d_month, CAST(year(d) AS INT) AS d_year,
               CAST(year(d) * 100 + month(d) AS INT) AS d_yearmonthnum, strftime(d, '%b%Y') AS d_yearmonth,
               CAST(dayofweek(d) + 1 AS INT) AS d_daynuminweek, CAST(day(d) AS INT) AS d_daynuminmonth,
               CAST(dayofyear(d) AS INT) AS d_daynuminyear, CAST(month(d) AS INT) AS d_monthnuminyear,
               CAST((dayofyear(d) - 1) // 7 + 1 AS INT) AS d_weeknuminyear,
               CASE WHEN month(d) IN (11, 12) THEN 'Christmas' WHEN month(d) IN (6, 7, 8) THEN 'Summer'
                    WHEN month(d) IN (3, 4, 5) THEN 'Spring' WHEN month(d) IN (9, 10) THEN 'Fall' ELSE 'Winter' END
                 AS d_sellingseason
        FROM (SELECT CAST(unnest(range(DATE '1992-01-01', DATE '1999-01-01', INTERVAL 1 DAY)) AS DATE) AS d)""",
    "customer": f"""
        SELECT CAST(c_custkey AS INT) AS c_custkey, c_name, c_address, {_CITY.format(key="c_custkey")} AS c_city,
               n_name AS c_nation, r_name AS c_region, c_phone, c_mktsegment
        FROM customer {_PLACE.format(prefix="c")} ORDER BY c_custkey""",
    "supplier": f"""
        SELECT CAST(s_suppkey AS INT) AS s_suppkey, s_name, s_address, {_CITY.format(key="s_suppkey")} AS s_city,
               n_name AS s_nation, r_name AS s_region, s_phone
        FROM supplier {_PLACE.format(prefix="s")} ORDER BY s_suppkey""",
    "part": """
        SELECT CAST(p_partkey AS INT) AS p_partkey, p_name, 'MFGR#' || p_brand[7] AS p_mfgr,
               'MFGR#' || p_brand[7:8] AS p_category,
               'MFGR#' || p_brand[7:8] || (hash(p_partkey) % 40 + 1) AS p_brand1,
               split_part(p_name, ' ', 1) AS p_color, p_type, p_size, p_container
        FROM part ORDER BY p_partkey""",
    "lineorder": """
        SELECT CAST(l_orderkey AS BIGINT) AS lo_orderkey, CAST(l_linenumber AS INT) AS lo_linenumber,
               CAST(o_custkey AS INT) AS lo_custkey, CAST(l_partkey AS INT) AS lo_partkey,
               CAST(l_suppkey AS INT) AS lo_suppkey, CAST(strftime(o_orderdate, '%Y%m%d') AS INT) AS lo_orderdate,
               o_orderpriority AS lo_orderpriority, CAST(o_shippriority AS INT) AS lo_shippriority,
               CAST(l_quantity AS INT) AS lo_quantity, CAST(l_extendedprice * 100 AS INT) AS lo_extendedprice,
               CAST(o_totalprice * 100 AS BIGINT) AS lo_ordtotalprice, CAST(l_discount * 100 AS INT) AS lo_discount,
               CAST(l_extendedprice * (100 - l_discount * 100) AS INT) AS lo_revenue,
               CAST(l_extendedprice * 60 / l_quantity AS INT) AS lo_supplycost, CAST(l_tax * 100 AS INT) AS lo_tax,
               CAST(strftime(l_commitdate, '%Y%m%d') AS INT) AS lo_commitdate, l_shipmode AS lo_shipmode
        FROM lineitem JOIN orders ON o_orderkey = l_orderkey ORDER BY l_orderkey, l_linenumber""",
}


def tables(_scale: float) -> dict[str, str]:
    """SELECTs over the TPC-H tables, which already have the scale."""
    return _TABLES
