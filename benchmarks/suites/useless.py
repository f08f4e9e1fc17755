"""Queries over TPC-H whose runtime filters remove nothing: what a filter costs that saves nothing.

The build sides have predicates that look selective and hold for every row.
"""

from __future__ import annotations

QUERIES = {
    "u1": "SELECT count(*), sum(l_quantity) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
    "WHERE o_clerk LIKE 'Clerk#%'",
    "u2": "SELECT o_orderpriority, count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
    "WHERE o_totalprice > 0 GROUP BY o_orderpriority",
    "u3": "SELECT p_size, sum(l_extendedprice) FROM lineitem JOIN part ON l_partkey = p_partkey "
    "WHERE p_retailprice + p_size > 0 GROUP BY p_size",
    "u4": "SELECT n_name, sum(l_extendedprice) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey "
    "JOIN nation ON s_nationkey = n_nationkey WHERE s_phone LIKE '%-%' GROUP BY n_name",
    "u5": "SELECT c_mktsegment, count(*) FROM orders JOIN customer ON o_custkey = c_custkey "
    "WHERE lower(c_name) LIKE 'customer%' GROUP BY c_mktsegment",
    "u6": "SELECT c_mktsegment, sum(l_quantity) FROM customer JOIN orders ON c_custkey = o_custkey "
    "JOIN lineitem ON l_orderkey = o_orderkey "
    "WHERE c_acctbal > -100000 AND o_comment IS NOT NULL "
    "GROUP BY c_mktsegment",
    "u7": "SELECT count(*) FROM lineitem WHERE EXISTS (SELECT * FROM orders WHERE o_orderkey = l_orderkey "
    "AND o_totalprice > o_shippriority)",
    "u8": "SELECT sum(ps_supplycost), sum(l_quantity) FROM lineitem JOIN partsupp ON l_partkey = ps_partkey "
    "AND l_suppkey = ps_suppkey WHERE ps_availqty >= 0 AND length(ps_comment) > 0",
    "u9": "SELECT count(*) FROM lineitem JOIN (SELECT l_partkey AS k, avg(l_quantity) AS q FROM lineitem "
    "GROUP BY l_partkey) ON l_partkey = k WHERE q > 0",
    "u10": "SELECT r_name, count(*) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey "
    "JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey "
    "WHERE r_name LIKE '%A%' OR r_name LIKE '%E%' GROUP BY r_name",
}
