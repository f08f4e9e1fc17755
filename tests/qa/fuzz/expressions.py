"""What stands in a random query: join conditions, predicates, select lists."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from qa.fuzz.data import BY_SQL, Table, Type
from qa.fuzz.tree import Alt, Many, Node, Opt

BIGINT, STRING, DOUBLE, INT = BY_SQL["BIGINT"], BY_SQL["STRING"], BY_SQL["DOUBLE"], BY_SQL["INT"]
NUMERIC = ("int", "dec", "float")
TEXT = ("str", "char", "coll")
# Families whose values can be compared with each other, with an implicit cast where types differ.
COMPARABLE = [{"int", "dec", "float"}, {"str", "char"}, {"coll"}, {"date", "ts", "ntz"}, {"bin"}, {"struct"}]


@dataclass(frozen=True)
class Column:
    """A column in scope: its text, and its type."""

    text: str
    type: Type


class Expressions:
    """Makes the parts of one query from the columns in scope."""

    def __init__(self, r: random.Random, tables: Sequence[Table]) -> None:
        self.r = r
        self.tables = tables
        self.duck = True
        self.aliases = 0
        self.keys: list[Column] = []

    # ---- ON

    def condition(self, left: list[Column], right: list[Column]) -> Node | None:
        pairs = [(a, b) for a in left for b in right if self.comparable(a.type, b.type)]
        # Keys of few values multiply rows.
        pairs = [p for p in pairs if p[0].type.family != "bool"]
        if not pairs:
            return None
        chosen = self.again(left, pairs) if self.r.random() < 0.3 else []
        if not chosen:
            # Mostly the same type: other pairs are compared as a third type.
            same = [p for p in pairs if p[0].type.family == p[1].type.family]
            chosen = [
                self.r.choice(same if same and self.r.random() < 0.7 else pairs)
                for _ in range(self.r.choice([1, 1, 1, 1, 2]))
            ]
        self.keys = [a for a, _ in chosen]
        conjuncts: list[Node] = [self.equality(a, b) for a, b in chosen]
        if self.r.random() < 0.15:
            a, b = self.r.choice(pairs)
            if a.type.family != "struct":
                self.mark(a, b)
                conjuncts.append(f"{a.text} {self.r.choice(['<', '<=', '<>', '>='])} {b.text}")
        return Many(" AND ", conjuncts)

    def again(self, left: list[Column], pairs: list[tuple[Column, Column]]) -> list[tuple[Column, Column]]:
        """The keys of the join before in another order: Spark reorders those of joins that share their partitioning."""
        keys = [a for a in reversed(self.keys) if a in left]
        found = [[p for p in pairs if p[0] == a and p[0].type.family == p[1].type.family] for a in keys]
        return [self.r.choice(p) for p in found] if len(keys) > 1 and all(found) else []

    def equality(self, a: Column, b: Column) -> Node:
        self.mark(a, b)
        operator = "IS NOT DISTINCT FROM" if self.r.random() < 0.08 else "="
        plain = f"{a.text} {operator} {b.text}"
        if self.r.random() < 0.25:
            return Alt(f"{self.expression(a)} {operator} {self.expression(b)}", plain)
        return plain

    def expression(self, c: Column) -> str:
        """An expression on a key that still matches something."""
        if self.r.random() < 0.4:
            return c.text
        match c.type.family:
            case "int":
                texts = [
                    f"CAST({c.text} AS BIGINT) + 1",
                    f"CAST({c.text} AS BIGINT)",
                    f"coalesce({c.text}, 1)",
                    f"CAST({c.text} AS DECIMAL(20,0))",
                    f"CAST({c.text} AS DOUBLE)",
                    f"nullif({c.text}, 3)",
                ]
            case "dec":
                texts = [f"CAST({c.text} AS DECIMAL(38,6))", f"coalesce({c.text}, 2)", f"{c.text} + 1"]
            case "float":
                texts = [f"CAST({c.text} AS DOUBLE)", f"{c.text} + 0", f"coalesce({c.text}, 0)"]
            case "str":
                texts = [
                    f"upper({c.text})",
                    f"substring({c.text}, 1, 3)",
                    f"trim({c.text})",
                    f"coalesce({c.text}, 'k1')",
                    f"({c.text} || '')",
                ]
            case "date":
                texts = [f"CAST({c.text} AS TIMESTAMP_NTZ)", f"coalesce({c.text}, DATE '2020-01-02')"]
                self.duck = False
            case "ts" | "ntz":
                texts = [f"CAST({c.text} AS DATE)"]
                self.duck = False
            case _:
                return c.text
        return self.r.choice(texts)

    def comparable(self, a: Type, b: Type) -> bool:
        if a.family == "struct":
            return b.family == "struct"
        return any(a.family in s and b.family in s for s in COMPARABLE)

    def mark(self, *columns: Column) -> None:
        """Notes what DuckDB does not do as Spark does."""
        families = {c.type.family for c in columns}
        if not all(c.type.duck for c in columns) or (len(families) > 1 and not families <= {"int", "dec"}):
            self.duck = False
        if len({c.type.sql for c in columns}) > 1 and "float" in families:
            self.duck = False

    # ---- WHERE

    def predicates(self, scope: list[Column], depth: int) -> list[Node]:
        return [self.predicate(scope, depth) for _ in range(self.r.choice([0, 0, 0, 1, 1, 2]))]

    def predicate(self, scope: list[Column], depth: int) -> Node:
        c = self.r.choice(scope)
        x = self.r.random()
        if x < 0.35 and depth > 0:
            return self.subquery(scope)
        if x < 0.45:
            return f"{c.text} IS {self.r.choice(['', 'NOT '])}NULL"
        self.mark(c)
        v = self.r.randrange(60)
        match c.type.family:
            case "int" | "dec":
                small = min(v, 100)
                return self.r.choice(
                    [
                        f"{c.text} < {small}",
                        f"{c.text} < 50",
                        f"{c.text} > {small // 4}",
                        f"{c.text} IN ({small}, {small + 1}, 7)",
                        f"({c.text} = {small} OR {c.text} IS NULL)",
                        f"{c.text} BETWEEN 3 AND {small + 20}",
                    ]
                )
            case "float":
                return self.r.choice([f"{c.text} < {v}.5", f"{c.text} >= 0", f"{c.text} <> {v}"])
            case "str":
                return self.r.choice(
                    [
                        f"{c.text} < 'k{v}'",
                        f"{c.text} > 'k1'",
                        f"{c.text} LIKE 'k{v % 10}%'",
                        f"{c.text} IN ('k{v}', 'k1')",
                    ]
                )
            case "date":
                return f"{c.text} {self.r.choice(['<', '>'])} DATE '2020-0{1 + v % 4}-15'"
            case "bool":
                return c.text
            case _:
                return f"{c.text} IS NOT NULL"

    def subquery(self, scope: list[Column]) -> Node:
        t = self.r.choice(self.tables)
        alias = f"a{self.aliases}"
        self.aliases += 1
        inner = [Column(f"{alias}.{n}", c) for n, c in t.columns]
        pairs = [(a, b) for a in scope for b in inner if self.comparable(a.type, b.type)]
        if not pairs:
            return "1 = 1"
        a, b = self.r.choice(pairs)
        self.mark(a, b)
        extra: Node = [Opt([" AND ", self.predicate(inner, 0)])] if self.r.random() < 0.6 else ""
        if self.r.random() < 0.3:
            extra = [extra, Opt(self.comparison(pairs))]
        match self.r.choice(["in", "in", "not in", "exists", "exists", "not exists", "scalar", "correlated"]):
            case "in":
                return [f"{a.text} IN (SELECT {b.text} FROM {t.name} {alias} WHERE 1 = 1", extra, ")"]
            case "not in":
                return [
                    f"{a.text} NOT IN (SELECT {b.text} FROM {t.name} {alias} WHERE {b.text} IS NOT NULL",
                    extra,
                    ")",
                ]
            case "exists":
                return [f"EXISTS (SELECT 1 FROM {t.name} {alias} WHERE ", self.equality(a, b), extra, ")"]
            case "not exists":
                return [f"NOT EXISTS (SELECT 1 FROM {t.name} {alias} WHERE {a.text} = {b.text}", extra, ")"]
            case "scalar":
                which = self.r.choice(["min", "max"])
                if b.type.family in ("struct", "coll"):
                    return "1 = 1"
                return [f"{a.text} <= (SELECT {which}({b.text}) FROM {t.name} {alias} WHERE 1 = 1", extra, ")"]
            case _:
                return [
                    f"(SELECT count(*) FROM {t.name} {alias} WHERE {a.text} = {b.text}",
                    extra,
                    f") {self.r.choice(['>', '<', '='])} {self.r.randint(0, 2)}",
                ]

    def comparison(self, pairs: list[tuple[Column, Column]]) -> str:
        """A further conjunct that compares a column with one of the outer query."""
        ordered = [(a, b) for a, b in pairs if a.type.family in ("int", "dec", "date", "str", "float")]
        if not ordered:
            return ""
        a, b = self.r.choice(ordered)
        self.mark(a, b)
        return f" AND {b.text} {self.r.choice(['<>', '<>', '<', '<=', '>', '>='])} {a.text}"

    # ---- SELECT

    def shown(self, c: Column) -> Column:
        """A collated string as one of its equals, whichever it was."""
        return Column(f"lower(CAST({c.text} AS STRING))", STRING) if c.type.family == "coll" else c

    def plain(self, scope: list[Column], types: list[Type] | None) -> list[Column]:
        if types is None:
            return [self.shown(c) for c in self.r.sample(scope, min(len(scope), self.r.randint(1, 4)))]
        out = []
        for t in types:
            fitting = [c for c in scope if c.type.family == t.family]
            c = self.r.choice(fitting) if fitting else Column("1" if t is BIGINT else "'k1'", t)
            out.append(Column(f"CAST({c.text} AS {t.sql})", t))
        return out

    def aggregates(self, scope: list[Column]) -> list[Column]:
        out = [Column("count(*)", BIGINT)]
        for c in self.r.sample(scope, min(len(scope), self.r.randint(0, 2))):
            if c.type.family == "struct":
                continue
            s = self.shown(c)
            choices = [Column(f"count({s.text})", BIGINT)]
            if c.type.family != "bool":
                choices += [Column(f"min({s.text})", s.type), Column(f"max({s.text})", s.type)]
                choices += [Column(f"count(DISTINCT {s.text})", BIGINT)]
            if c.type.family == "int":
                choices += [Column(f"sum(CAST({c.text} AS DECIMAL(20,0)))", BY_SQL["DECIMAL(28,4)"])]
                choices += [Column(f"count(*) FILTER (WHERE {c.text} > {self.r.randint(0, 9)})", BIGINT)]
            if c.type is INT:
                choices += [Column(f"CAST(sum({c.text}) AS BIGINT)", BIGINT), Column(f"bit_xor({c.text})", INT)]
                choices += [Column(f"CAST(floor(avg({c.text}) * 1000) AS BIGINT)", BIGINT)]
            out.append(self.r.choice(choices))
        return out

    def windows(self, scope: list[Column]) -> list[Column]:
        ok = [c for c in scope if c.type.family not in ("struct", "bool", "coll")] or [Column("1", INT)]
        p, o = self.r.choice(ok), self.r.choice(ok)
        over = f"OVER (PARTITION BY {p.text} ORDER BY {o.text} NULLS FIRST)"
        function = self.r.choice(["rank()", "dense_rank()", "count(*)", f"min({o.text})"])
        t = o.type if function.startswith("min") else BIGINT
        return [Column(f"{function} {over}", t)]
