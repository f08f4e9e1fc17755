"""The Spark lines that Springbok is built for, as project/SparkLines.scala lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "project" / "SparkLines.scala"

# An entry starts with four strings: the line, its Spark, its Scala and its oldest Java.
_ENTRY = re.compile(r'^ +SparkLine\(\s*"([\d.]+)",\s*"([\d.]+)",\s*"(\d+\.\d+)[\d.]*",\s*"\d+",', re.MULTILINE)
_FORMAT = re.compile(r'(delta|iceberg|hudi) = Some\("[^"]+" -> "([\d.]+)"\)')
_UNMANAGED = re.compile(r'unmanaged = Some\("([^"]+)"\)')
_CURRENT = re.compile(r'val current: String = "([\d.]+)"')


@dataclass(frozen=True)
class Line:
    """One line: its name, the Spark that it is compiled against, and Scala's binary version.

    `unmanaged` is the folder of the jars of a Spark that Maven does not serve, `current` marks the line of the
    repository's own tests, and `formats` has the versions of the table formats that its tests use.
    """

    name: str
    spark: str
    scala: str
    unmanaged: str | None
    current: bool
    formats: dict[str, str]

    @property
    def label(self) -> str:
        """What tells it from every other line, such as 3.5_2.12."""
        return f"{self.name}_{self.scala}"

    def jar(self, version: str) -> str:
        """The name of its jar's file."""
        return f"springbok-spark-{self.label}-{version}.jar"

    @property
    def target(self) -> Path:
        """The folder in which sbt puts its jar."""
        return ROOT / "jvm" / "target" / f"spark-{self.label}" / "jar"


def every() -> list[Line]:
    """All lines, in the order of the list."""
    text = LIST.read_text(encoding="utf-8")
    found = _CURRENT.search(text)
    current = found.group(1) if found else ""
    entries = list(_ENTRY.finditer(text))
    ends = [e.start() for e in entries[1:]] + [len(text)]
    lines = []
    for entry, end in zip(entries, ends, strict=True):
        name, spark, scala = entry.groups()
        unmanaged = _UNMANAGED.search(text, entry.end(), end)
        formats = dict(_FORMAT.findall(text, entry.end(), end))
        lines.append(Line(name, spark, scala, unmanaged.group(1) if unmanaged else None, name == current, formats))
    return lines


def chosen(names: list[str]) -> list[Line]:
    """The lines of these names: 4.1, 3.5 (for both Scalas), 3.5_2.12, current, all.

    Raises:
        KeyError: there is no such line.
    """
    lines = every()
    found: list[Line] = []
    for name in names:
        some = [li for li in lines if name in ("all", li.name, li.label) or (name == "current" and li.current)]
        if not some:
            raise KeyError(name)
        found += [li for li in some if li not in found]
    return found


if __name__ == "__main__":
    for line in every():
        print(line.label, line.spark)
