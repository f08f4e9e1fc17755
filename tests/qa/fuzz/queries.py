"""Random queries over the tables of a seed, in the SQL that Spark and DuckDB share as far as it goes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from qa.fuzz.data import Table, Type
from qa.fuzz.expressions import BIGINT, INT, STRING, Column, Expressions
from qa.fuzz.tree import Many, Node, Opt, render


@dataclass
class Query:
    """A query: its tree, and whether DuckDB should give the same answer."""

    tree: Node
    duck: bool

    def sql(self) -> str:
        return render(self.tree)


class Generator(Expressions):
    """Makes queries; one instance makes one query."""

    def __init__(self, r: random.Random, tables: Sequence[Table]) -> None:
        super().__init__(r, tables)
        self.ctes: list[tuple[str, list[Column]]] = []

    def query(self) -> Query:
        ctes: list[Node] = []
        for _ in range(self.r.choice([0, 0, 0, 1, 2])):
            body, columns = self.select(1)
            name = f"q{len(self.ctes)}"
            self.ctes.append((name, columns))
            ctes.append([f"{name} AS (", body, ")"])
        body, _ = self.top()
        head: list[Node] = [Many(", ", ctes, "WITH ", all=True), " "] if ctes else []
        return Query([*head, body], self.duck)

    # ---- queries

    def top(self) -> tuple[Node, list[Column]]:
        body, columns = self.set_operation(2) if self.r.random() < 0.15 else self.select(self.r.choice([1, 1, 1, 2]))
        if self.r.random() < 0.25:
            order = ", ".join(f"{i + 1} {self.r.choice(['ASC', 'DESC'])} NULLS FIRST" for i in range(len(columns)))
            # Strings that a collation takes for equal tie.
            if all(c.type.family not in ("struct", "coll") for c in columns):
                return [body, Opt(f" ORDER BY {order} LIMIT {self.r.choice([1, 5, 20, 100])}")], columns
        return body, columns

    def set_operation(self, depth: int) -> tuple[Node, list[Column]]:
        types = self.r.choices([BIGINT, STRING, BIGINT], k=self.r.randint(1, 3))
        operator = self.r.choice(["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT"])
        left, columns = self.select(depth - 1, types)
        right, _ = self.select(depth - 1, types)
        return [left, f" {operator} ", right], columns

    def select(self, depth: int, types: list[Type] | None = None) -> tuple[Node, list[Column]]:
        sources, scope = self.sources(depth)
        where: list[Node] = [Opt(p) for p in self.predicates(scope, depth)]
        kind = "plain" if types else self.r.choice(["plain", "plain", "group", "group", "total", "window", "distinct"])
        group: Node = ""
        if kind == "plain":
            items = self.plain(scope, types)
        elif kind == "distinct":
            items = self.plain(scope, None)
        elif kind == "total":
            items = self.aggregates(scope)
        elif kind == "window":
            items = self.plain(scope, None) + self.windows(scope)
        else:
            keys = [c for c in self.r.sample(scope, min(len(scope), self.r.randint(1, 2))) if c.type.family != "struct"]
            keys = [self.shown(c) for c in keys] or [Column("1", INT)]
            aggregates = self.aggregates(scope)
            texts = [k.text for k in keys]
            group = " GROUP BY " + self.grouping(texts)
            if self.r.random() < 0.2:
                group = [group, Opt(f" HAVING count(*) > {self.r.randint(0, 3)}")]
            items = keys + aggregates
        names = [f"{c.text} AS o{i}" for i, c in enumerate(items)]
        hint = self.hint()
        columns = [Column(f"o{i}", c.type) for i, c in enumerate(items)]
        distinct = "DISTINCT " if kind == "distinct" else ""
        body: Node = ["SELECT ", Opt(hint), distinct, ", ".join(names), " FROM ", sources]
        return [body, Many(" AND ", where, " WHERE ", all=True) if where else "", group], columns

    def grouping(self, keys: list[str]) -> str:
        if self.r.random() < 0.3:
            # Over no rows DuckDB gives a total and Spark none.
            self.duck = False
            all_keys = ", ".join(keys)
            sets = [f"ROLLUP ({all_keys})", f"CUBE ({all_keys})", f"GROUPING SETS (({all_keys}), ({keys[0]}), ())"]
            return self.r.choice(sets)
        return ", ".join(keys)

    def hint(self) -> str:
        if self.r.random() > 0.15:
            return ""
        last = f"a{self.aliases - 1}" if self.aliases else "a0"
        return f"/*+ {self.r.choice(['BROADCAST', 'MERGE', 'SHUFFLE_HASH', 'SHUFFLE_REPLICATE_NL'])}({last}) */ "

    # ---- FROM

    def source(self, depth: int) -> tuple[Node, list[Column]]:
        alias = f"a{self.aliases}"
        self.aliases += 1
        x = self.r.random()
        if self.ctes and x < 0.3:
            name, columns = self.r.choice(self.ctes)
            return f"{name} {alias}", [Column(f"{alias}.{c.text}", c.type) for c in columns]
        if depth > 0 and x < 0.45:
            union = self.r.random() < 0.25
            body, columns = self.set_operation(depth) if union else self.select(depth - 1)
            return ["(", body, f") {alias}"], [Column(f"{alias}.{c.text}", c.type) for c in columns]
        t = self.r.choice(self.tables)
        return f"{t.name} {alias}", [Column(f"{alias}.{n}", c) for n, c in t.columns]

    def sources(self, depth: int) -> tuple[Node, list[Column]]:
        first, scope = self.source(depth)
        parts: list[Node] = [first]
        for _ in range(self.r.choice([0, 1, 1, 2, 2, 3]) if depth else self.r.choice([0, 1])):
            node, columns = self.source(depth - 1)
            on = self.condition(scope, columns)
            if on is None:
                continue
            kinds = ["JOIN"] * 4 + ["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "LEFT JOIN"]
            kind = self.r.choice(kinds)
            parts.append(Opt([f" {kind} ", node, " ON ", on]))
            if kind not in ("SEMI JOIN", "ANTI JOIN"):
                scope = scope + columns
        return parts, scope
