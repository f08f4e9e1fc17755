"""Switching Springbok on in a session, and off for a while."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from springbok import jar
from springbok._jvm import is_active, living, spark_errors
from springbok.errors import SpringbokError
from springbok.settings import checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "org.apache.spark.sql.springbok.SpringbokExtensions"
ENABLED = "spark.springbok.enabled"
# Where PySpark finds the JVM that spark-submit has started.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
# What PySpark gives to spark-submit when it starts the JVM itself.
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_LONG_OPTION = re.compile(r"--(?:jars|conf)=.")
# As Java's properties: the key ends at a space, `=` or `:`.
_PROPERTY = re.compile(r"([^\s=:#!][^\s=:]*)(?:\s*[=:]\s*|\s+)(.+)")

# For each session the blocks of `disabled` that are open, and what ends them.
_disabled: WeakKeyDictionary[SparkSession, tuple[int, contextlib.ExitStack]] = WeakKeyDictionary()
_lock = threading.Lock()


def configure(builder: SparkSession.Builder, **settings: Any) -> SparkSession.Builder:
    """Add Springbok to a session builder and return the builder.

    What `spark.jars` and `spark.sql.extensions` already hold, in the builder, in `spark-defaults.conf`, in
    `PYSPARK_SUBMIT_ARGS` or from `spark-submit`, is kept. Calling it twice changes nothing. On a Spark that Springbok
    has no jar for, the builder stays as it is, and a warning says so. For a Spark Connect server elsewhere only the
    settings are added: the server itself needs the jar and the extension.

    Args:
        builder: a `SparkSession.builder`.
        settings: settings of Springbok without their prefix, dots as underscores: `runtimeFilter_mode="LOCAL"` sets
            `spark.springbok.runtimeFilter.mode`.

    Raises:
        SpringbokError: an unknown setting or a wrong value; a Spark that runs already and cannot take the extension;
            PySpark is not installed.
    """
    values = checked(settings)
    url = str(builder._options.get("spark.remote") or os.environ.get("SPARK_REMOTE", ""))
    if url and not url.startswith("local"):
        return builder.config(map={**values})
    jvm = _launched()
    with living():
        spark = jar.launched(jvm) if jvm is not None else jar.installed()
    path = jar.find(spark)
    if path is None:
        warnings.warn(f"{jar.missing(spark)}; Spark plans alone.", stacklevel=2)
        return builder
    _check_running(jvm, path)
    options: dict[str, Any] = builder._options
    outer = outer_conf(spark.home)
    present = outer | {key: str(value) for key, value in options.items() if value}
    # A driver that runs the tasks need not send itself the jar, which takes 0.2 s.
    alone = runs_tasks_in_driver(present.get("spark.master", ""))
    own = path.as_uri().replace("file:", "local:", 1) if alone else str(path)
    for key, item in {"spark.jars": own, "spark.sql.extensions": EXTENSION}.items():
        builder.config(key, joined(present.get(key, ""), item))
    if jvm is None:
        _submit(joined(outer.get("spark.jars", ""), options["spark.jars"]))
    return builder.config(map={**values})


def runs_tasks_in_driver(master: str) -> bool:
    """Whether a master has no executors of its own: `local` and `local[...]`, but not `local-cluster[...]`."""
    return re.match(r"local(\[|$)", master) is not None


def joined(present: str, more: str) -> str:
    """Both lists of items between commas, each item once."""
    return ",".join(dict.fromkeys(item for item in f"{present},{more}".split(",") if item))


def _submit(jars: str) -> None:
    """Put the jars into `PYSPARK_SUBMIT_ARGS` if it names jars: Spark then takes none from the builder."""
    args = _arguments()
    named = [at for at, key, _ in _settings(args) if key == "spark.jars"]
    for at in named:
        args[at] = jars if args[at - 1] == "--jars" else f"spark.jars={jars}"
    if named:
        os.environ[_ARGUMENTS] = shlex.join(args)


def _arguments() -> list[str]:
    """What PySpark gives to spark-submit, with `--jars=value` as two arguments and `-c` as `--conf`."""
    parts = shlex.split(os.environ.get(_ARGUMENTS, ""))
    split = [part for a in parts for part in (a.split("=", 1) if _LONG_OPTION.match(a) else [a])]
    return ["--conf" if part == "-c" else part for part in split]


def _settings(args: list[str]) -> Iterator[tuple[int, str, str]]:
    """The settings in arguments of spark-submit: the place of the argument, the key and the value."""
    for at, (flag, argument) in enumerate(itertools.pairwise(args), 1):
        if flag == "--jars":
            yield at, "spark.jars", argument
        elif flag == "--conf" and "=" in argument:
            key, _, value = argument.partition("=")
            yield at, key, value


def local_session(master: str, memory: str, app: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session with Springbok and without the UI, as the commands and the benchmarks use it.

    Args:
        master: Spark's master, or the address of a Spark Connect server, `sc://host`, which has its own settings.
        memory: heap of the driver, such as "2g".
        app: the application's name.
        settings: further settings of Spark, by key.

    Raises:
        SpringbokError: Springbok has no jar for this Spark.
    """
    jar.installed()
    from pyspark.sql import SparkSession

    if master.startswith("sc://"):
        with spark_errors(f"There is no session of {master}"):
            return SparkSession.builder.remote(master).getOrCreate()
    jar.jar_path()
    conf = {
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(master).appName(app).config(map={**conf, **(settings or {})})
    # Last: it adds to the jars and extensions of the settings.
    return configure(builder).getOrCreate()


@contextlib.contextmanager
def temporarily(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Within the block the session has these settings; afterwards it has what it had before."""
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


@contextlib.contextmanager
def disabled(spark: SparkSession) -> Iterator[None]:
    """Within the block, queries of this session are planned by Spark alone.

    The setting belongs to the session, so this goes for all its threads: until the last of them has left its block.
    A thread with a session of its own (`spark.newSession()`) is not affected.
    """
    with _lock:
        blocks, block = _disabled.get(spark, (0, contextlib.ExitStack()))
        if not blocks:
            block.enter_context(temporarily(spark, {ENABLED: "false"}))
        _disabled[spark] = blocks + 1, block
    try:
        yield
    finally:
        with _lock:
            blocks, block = _disabled.pop(spark)
            if blocks > 1:
                _disabled[spark] = blocks - 1, block
            else:
                block.close()


def _check_running(jvm: Any, path: Path) -> None:
    """Say so when a running Spark can no longer take the extension."""
    from pyspark.sql import SparkSession

    # The one that `getOrCreate` would return: of this thread, or of the process.
    session: Any = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if hasattr(session, "_jsparkSession") and session._sc._jsc is None:
        session = None  # it has been stopped
    if hasattr(session, "_jsparkSession") and not is_active(session):
        raise SpringbokError(
            "A Spark session without Springbok is running, and extensions cannot be added to it: stop it by "
            "spark.stop(), and make a new one by springbok.configure(SparkSession.builder).getOrCreate(). If the "
            "platform made it, set spark.jars and spark.sql.extensions in the platform's configuration."
        )
    if session is None and jvm is not None and not _loads(jvm, path):
        raise SpringbokError(
            "A Spark JVM without Springbok's jar is running and does not take it: with spark-submit add "
            '--jars "$(python -m springbok jar)", in a notebook restart the kernel and call springbok.configure before '
            "the first session is made."
        )


def _launched() -> Any:
    """The JVM of this process: spark-submit's, or one that a stopped session has left; None if there is none yet."""
    try:
        from pyspark import SparkContext
    except ImportError as e:
        raise SpringbokError(f"PySpark is not installed: {jar.PYSPARK}.") from e
    if SparkContext._jvm is None and _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
    return SparkContext._jvm


def _loads(jvm: Any, path: Path) -> bool:
    """Whether the JVM has Springbok's classes; its class loader is given the jar if it has not."""
    from py4j.protocol import Py4JError

    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    with contextlib.suppress(Py4JError):
        loader.loadClass(EXTENSION)
        return True
    with contextlib.suppress(Py4JError):  # not every loader takes jars
        loader.addURL(jvm.java.io.File(str(path)).toURI().toURL())
        loader.loadClass(EXTENSION)
        return True
    return False


def outer_conf(home: str | None) -> dict[str, str]:
    """Settings from outside of the builder: what spark-submit was given, else `spark-defaults.conf` of the Spark in
    `home`, and `PYSPARK_SUBMIT_ARGS`."""
    if _SUBMITTED in os.environ:
        from pyspark import SparkConf

        return dict(SparkConf(_jvm=_launched()).getAll())
    conf: dict[str, str] = {}
    folder = os.environ.get("SPARK_CONF_DIR") or (str(Path(home) / "conf") if home else None)
    defaults = Path(folder) / "spark-defaults.conf" if folder else None
    if defaults and defaults.is_file():
        conf = properties(defaults)
    return conf | {key: value for _, key, value in _settings(_arguments())}


def properties(file: Path) -> dict[str, str]:
    """The settings in a file such as `spark-defaults.conf`."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return {m[1]: m[2] for line in lines if (m := _PROPERTY.fullmatch(line.strip()))}
