"""Query text as a tree of which parts can be left out, so that a failing query can be made smaller."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Union

Node = Union[str, "Opt", "Alt", "Many", list["Node"]]
_ids = itertools.count()


@dataclass
class Opt:
    """A part that the query can do without."""

    node: Node
    id: int = field(default_factory=lambda: next(_ids))


@dataclass
class Alt:
    """A part with something simpler that can stand for it."""

    node: Node
    simpler: Node
    id: int = field(default_factory=lambda: next(_ids))


@dataclass
class Many:
    """Parts with a separator; all but one can be left out, or `all` of them, with what stands `before`."""

    separator: str
    nodes: list[Node]
    before: str = ""
    all: bool = False
    ids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ids = [next(_ids) for _ in self.nodes]


def render(node: Node, without: frozenset[int] = frozenset()) -> str:
    """The text, without the parts of these ids."""
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return "".join(render(n, without) for n in node)
    if isinstance(node, Opt):
        return "" if node.id in without else render(node.node, without)
    if isinstance(node, Alt):
        return render(node.simpler if node.id in without else node.node, without)
    kept = [n for n, i in zip(node.nodes, node.ids, strict=True) if i not in without]
    if not kept and not node.all:
        kept = node.nodes[:1]
    return node.before + node.separator.join(render(n, without) for n in kept) if kept else ""


def ids(node: Node) -> Iterator[int]:
    """Ids of all parts that can be left out, outer ones first."""
    if isinstance(node, str):
        return
    if isinstance(node, list):
        for n in node:
            yield from ids(n)
    elif isinstance(node, Opt):
        yield node.id
        yield from ids(node.node)
    elif isinstance(node, Alt):
        yield node.id
        yield from ids(node.node)
        yield from ids(node.simpler)
    else:
        yield from node.ids
        for n in node.nodes:
            yield from ids(n)


def minimize(node: Node, fails: Callable[[str], bool], tries: int = 150) -> str:
    """The text with as many parts left out as keeps it failing."""
    without: frozenset[int] = frozenset()
    shrunk = True
    while shrunk and tries > 0:
        shrunk = False
        for i in ids(node):
            smaller = without | {i}
            if i in without or render(node, smaller) == render(node, without):
                continue
            tries -= 1
            if tries <= 0:
                break
            if fails(render(node, smaller)):
                without = smaller
                shrunk = True
    return render(node, without)
