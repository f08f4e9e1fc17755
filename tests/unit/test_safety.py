"""What is shipped, what is logged, what is audited."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest
import springbok

ROOT = Path(__file__).parents[2]
OWN = re.compile(
    r"(org/(apache/(spark/(sql/(execution/(springbok/.*)?|springbok/.*)?)?)?)?)?|META-INF/(MANIFEST\.MF|LICENSE|NOTICE|services/(org\.apache\.spark\.status\.AppHistoryServerPlugin)?)?|"
    r"springbok\.(properties|members)"
)

# Types that Spark has from 4.0, which the jars for 3.5 bring along.
LATER = re.compile(r"org/apache/spark/sql/(classic/(package\$?\.class)?|ExtendedExplainGenerator\.class)")


def test_a_jar_holds_springbok_and_nothing_else() -> None:
    for path in Path(springbok.jar_path()).parent.glob("*.jar"):
        with zipfile.ZipFile(path) as jar:
            names = jar.namelist()
        others = [n for n in names if not OWN.fullmatch(n)]
        assert [n for n in others if not ("spark-3.5" in path.name and LATER.fullmatch(n))] == [], path.name
        assert "org/apache/spark/sql/springbok/SpringbokExtensions.class" in names
        assert not [n for n in names if "Suite" in n]


def test_logs_above_debug_hold_no_values_and_no_paths() -> None:
    # A failing rule once logged its exception's message as a warning. Such a message may quote data.
    # All of them: what they may name is a rule, a class, a setting, a version or a fingerprint.
    texts = []
    for source in (ROOT / "jvm" / "src" / "main").rglob("*.scala"):
        texts += re.findall(r"log(?:Info|Warning|Error)\((.*?)\)$", source.read_text(), re.DOTALL | re.MULTILINE)
    names = {n.rstrip(".") for t in texts for n in re.findall(r"\$\{?([\w.]+)", t)}
    assert names <= {"rule", "e.getClass.getName", "key", "nearest", "fingerprint"}, names
    # A Throwable's message may quote a value: none is handed to the log as it is.
    assert not [t for t in texts if re.search(r",\s*e\s*$", t)]


def test_nothing_untrusted_is_deserialized() -> None:
    for source in (ROOT / "python" / "springbok").rglob("*.py"):
        assert not re.search(r"\b(pickle|marshal|shelve|yaml|eval|exec)\b[.(]", source.read_text()), source
    for source in (ROOT / "jvm" / "src" / "main").rglob("*.scala"):
        assert "ObjectInputStream" not in source.read_text(), source


@pytest.mark.parametrize(
    ("pip_audit", "unreachable", "passes"),
    [
        ("exit 0", (), True),
        # It once passed without having looked.
        ("exit 1  # the database cannot be reached", (), False),
        ("exit 1  # the database cannot be reached", ("UNREACHABLE=passes",), True),
        ("echo 'x 1 PYSEC-1 2' > audit.txt; exit 1", (), False),
        ("echo 'x 1 PYSEC-1 2' > audit.txt; exit 1", ("UNREACHABLE=passes",), False),
    ],
)
def test_an_audit_that_found_something_or_could_not_look_fails(
    tmp_path: Path, pip_audit: str, unreachable: tuple[str, ...], passes: bool
) -> None:
    (tmp_path / "pip-audit").write_text(f"#!/bin/sh\ncd {tmp_path}\n{pip_audit}\n")
    (tmp_path / "pip-audit").chmod(0o755)
    (tmp_path / "installed").touch()
    variables = (f"BIN={tmp_path}", f"VENV={tmp_path}/installed", f"AUDIT={tmp_path}/audit.txt", *unreachable)
    done = subprocess.run(["make", "audit", *variables], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    assert ("PYSEC-1" in done.stdout) == ("PYSEC-1" in pip_audit)
    assert ("Nothing was audited" in done.stdout) == ("reached" in pip_audit)
