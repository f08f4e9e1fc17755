"""Differences between two folders of recorded texts, but for renames and for what differs from run to run."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from qa import stable_text

HEADING = "#### "
# Sections with this word hold lines `path = value`, sorted; the others hold plans.
_REPORT = "report"
_PATH = re.compile(r"[a-z_]+(?=[\[. ])[^=()]* = ")
# Parts of a text, as lines by title.
Sections = dict[str, list[str]]


@dataclass(frozen=True)
class Renames:
    """What may differ: names that were replaced, lines that are gone and lines that are new."""

    replaced: tuple[tuple[re.Pattern[str], str], ...] = ()
    gone: tuple[re.Pattern[str], ...] = ()
    new: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def read(cls, path: Path) -> Renames:
        """One rename a line.

        `old -> new` replaces a text, `re: old -> new` what a regular expression matches, `gone: re` leaves out lines of
        the old texts (after replacing), `new: re` lines of the new ones. Lines that start with # are comments.

        Raises:
            ValueError: a line that is none of these.
        """
        replaced, gone, new = [], [], []
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            kind, _, rest = line.partition(": ")
            if kind == "gone":
                gone.append(re.compile(rest))
            elif kind == "new":
                new.append(re.compile(rest))
            elif " -> " in line:
                old, _, to = (rest if kind == "re" else line).partition(" -> ")
                replaced.append((re.compile(old if kind == "re" else re.escape(old)), to))
            else:
                raise ValueError(f"{path}: neither a rename nor gone: or new: in {line!r}")
        return cls(tuple(replaced), tuple(gone), tuple(new))

    def old(self, sections: Sections) -> Sections:
        """An old text as it would be now."""
        renamed = {t: [self._renamed(line) for line in lines] for t, lines in sections.items()}
        return {t: _ordered(t, _without(lines, self.gone)) for t, lines in renamed.items()}

    def current(self, sections: Sections) -> Sections:
        """A new text without what the old ones cannot have."""
        return {t: _ordered(t, _without(lines, self.new)) for t, lines in sections.items()}

    def _renamed(self, line: str) -> str:
        for old, to in self.replaced:
            line = old.sub(to, line)
        return line


def sections(text: str) -> Sections:
    """The parts of a recorded text."""
    found: Sections = {}
    for line in text.splitlines():
        if line.startswith(HEADING):
            found[line.removeprefix(HEADING)] = []
        else:
            found[next(reversed(found))].append(line)
    return found


def _ordered(title: str, lines: list[str]) -> list[str]:
    return sorted(lines) if _REPORT in title else lines


def _without(lines: list[str], patterns: Iterable[re.Pattern[str]]) -> list[str]:
    return [line for line in lines if not any(p.search(line) for p in patterns)]


def _key(title: str, line: str) -> str:
    return line.partition(" = ")[0] if _REPORT in title else line


def _without_ids(title: str, lines: list[str]) -> list[str]:
    return lines if _REPORT in title else [stable_text.IDS.sub(r"\1", line) for line in lines]


def stable(title: str, texts: list[list[str]], others: list[list[str]]) -> list[list[str]]:
    """The lines of a part of `texts` that do not differ between the first of them and `others`."""
    if all(other == texts[0] for other in others):
        return texts
    first, *rest = (_without_ids(title, lines) for lines in (texts[0], *others))
    free: set[str] = set()
    for other in rest:
        a, b = Counter(first), Counter(other)
        free |= {_key(title, line) for line in (a - b) + (b - a)}
    return [[li for li in _without_ids(title, lines) if _key(title, li) not in free] for lines in texts]


def differences(a: Sections, b: Sections, others: list[Sections]) -> tuple[list[str], list[str], list[str]]:
    """What is left of two texts to be compared, and the titles of the parts that are not stable."""
    left: list[str] = []
    right: list[str] = []
    unstable: list[str] = []
    for title in dict.fromkeys([*a, *b, *(t for o in others for t in o)]):
        of_a, of_b, *of_others = (s.get(title, []) for s in (a, b, *others))
        if any(other != of_a for other in of_others):
            unstable.append(title)
        stable_a, stable_b = stable(title, [of_a, of_b], of_others)
        left += [HEADING + title, *stable_a]
        right += [HEADING + title, *stable_b]
    return left, right, unstable


def compare(a: Path, b: Path, renames: Renames, unstable: list[Path]) -> int:
    """Print a diff of each text that differs, and a summary; 1 if there is a difference."""
    names = sorted({str(p.relative_to(folder)) for folder in (a, b) for p in folder.rglob("*.txt")})
    missing = {folder: [n for n in names if not (folder / n).exists()] for folder in (a, b)}
    differ: dict[str, int] = {}
    not_stable: dict[str, list[str]] = {}
    kinds: Counter[str] = Counter()
    for name in (n for n in names if (a / n).exists() and (b / n).exists()):
        old, *others = (
            renames.old(sections((folder / name).read_text(encoding="utf-8")))
            for folder in (a, *unstable)
            if (folder / name).exists()
        )
        new = renames.current(sections((b / name).read_text(encoding="utf-8")))
        left, right, titles = differences(old, new, others)
        if titles:
            not_stable[name] = titles
        if left != right:
            print(*difflib.unified_diff(left, right, f"a/{name}", f"b/{name}", n=1, lineterm=""), sep="\n")
            lines = (Counter(left) - Counter(right)) + (Counter(right) - Counter(left))
            differ[name] = lines.total()
            kinds.update(_kind(line) for line in lines.elements())
    _summary(len(names), missing, differ, not_stable, kinds)
    return 1 if differ or any(missing.values()) else 0


def _kind(line: str) -> str:
    path = _PATH.match(line)
    return re.sub(r"\[\d+\]", "[]", path[0].removesuffix(" = ")) if path else "a line of a plan"


def _summary(
    total: int,
    missing: dict[Path, list[str]],
    differ: dict[str, int],
    unstable: dict[str, list[str]],
    kinds: Counter[str],
) -> None:
    for name, titles in unstable.items():
        print(f"unstable from run to run: {name}: {', '.join(titles)}")
    for kind, count in kinds.most_common(30):
        print(f"{count:>7} lines differ: {kind}")
    for name, count in differ.items():
        print(f"DIFFERENT {name}: {count} lines")
    for folder, names in missing.items():
        if names:
            print(f"not in {folder}: {', '.join(names)}")
    absent = sum(map(len, missing.values()))
    print(f"{total} queries: {len(differ)} differ, {absent} missing, {len(unstable)} unstable from run to run")
