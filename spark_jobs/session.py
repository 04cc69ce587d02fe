"""The Spark session of every job: with Delta, in UTC, without progress bars, and with few tasks for small plans.

Under spark-submit, its settings win; in a plain Python process the session is local.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.runtime import first_use, user_settings
from spark_jobs.runtime.environment import driver_conf, process_environment, spark_conf
from spark_jobs.runtime.native_engine import COMET_ENABLED, ENGINE, Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHUFFLE, _ADAPTIVE = "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled"
_ROWS_PER_TASK = 5_000_000
# Compiling the plans of a report takes five seconds, more than reading so many rows without compiled code.
_INTERPRETED_ROWS = 200_000
# A run over so few rows compiles its plans for longer than it runs them, unless it reads larger files for these rows.
_FEW_ROWS, _FEW_BYTES = 20_000, 16 * 2**20
_INTERPRETS = "spark.tidemark.interprets"
_INTERPRETED = {
    _INTERPRETS: "true",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Comet plans each stage again, in native code.
    COMET_ENABLED: "false",
    # Adaptive execution plans again after every shuffle, each in another job; here a shuffle has one piece anyway.
    _ADAPTIVE: "false",
    _SHUFFLE: "1",
}


def open_session(
    app_name: str,
    new_log: Callable[[], Path] | None = None,
    report: Callable[[str], None] = first_use.to_stderr,
    *,
    few_rows: bool = False,
    compiles_plans: bool = True,
) -> SparkSession:
    """Return the running session, or a new session.

    A local session uses every core and 4 GiB of driver memory, unless the environment sets `TIDEMARK_SPARK_MASTER` or
    `TIDEMARK_DRIVER_MEMORY`. With `new_log`, the output of a Java that is started here goes to the file that it
    returns. Under spark-submit, Java runs already and keeps its output. The first use of an environment made by pip
    fetches Delta's jars, and reports that. The user's own settings of Spark apply too, as `user_settings` describes.

    `few_rows`: the session will process few rows (`driver_conf`). Without `compiles_plans`, a new session interprets
    all plans, as in `SmallPlans`, unless the user has set one of these settings, or demands the native engine.
    """
    first_use.provide(os.environ, report)
    os.environ.update(process_environment(os.environ))
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from spark_jobs import java_classes, java_objects

    builder = SparkSession.builder.appName(app_name)
    is_submitted = "SPARK_ENV_LOADED" in os.environ
    settings, users = spark_conf(os.environ), _submitted() if is_submitted else user_settings.of_file(os.environ)
    if not is_submitted:
        master = os.environ.get("TIDEMARK_SPARK_MASTER") or "local[*]"
        settings = {**settings, "spark.master": master, **driver_conf(os.environ, master, report, few_rows=few_rows)}
    is_new = SparkContext._active_spark_context is None  # noqa: SLF001  the active session is that of one thread
    demands_native = os.environ.get(ENGINE) == Engine.COMET
    if not compiles_plans and is_new and not demands_native and not users.keys() & _INTERPRETED.keys():
        settings = {**settings, **_INTERPRETED}
    settings = user_settings.beside(settings, users, report)
    if not is_submitted and new_log is not None:
        _start_java(settings, new_log)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    java_classes.remember(session.sparkContext)
    java_objects.release_in_bulk(session.sparkContext)
    return session


def _submitted() -> dict[str, str]:
    """Return the settings of spark-submit."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001  SparkConf reads Java's properties
    return dict(SparkConf().getAll())


def _start_java(settings: Mapping[str, str], new_log: Callable[[], Path]) -> None:
    """Start Java with its output in a log file, unless it runs already."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:  # noqa: SLF001  PySpark has no public name for it
        return
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with new_log().open("ab") as output:
        gateway = launch_gateway(conf, {"stdout": output, "stderr": output})
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001  as PySpark does, with another output


@dataclass(frozen=True)
class SmallPlans:
    """The session that runs plans over a few thousand rows, such as a census, a calendar or a short timeline.

    Compiling such a plan takes longer than running it. A plan runs in the session of the frame that it begins with.
    """

    session: SparkSession

    @classmethod
    def interpreted(cls, spark: SparkSession) -> SmallPlans:
        """Run small plans without compiling them, in a session beside `spark`."""
        return cls(interpreting(spark))


def interpreting(spark: SparkSession) -> SparkSession:
    """Return a session beside `spark` that does not compile plans (`SmallPlans`); for such a session, itself."""
    return spark if spark.conf.get(_INTERPRETS, None) else _interpreting_session(spark)


@lru_cache(maxsize=1)
def _interpreting_session(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    for name, value in _INTERPRETED.items():
        session.conf.set(name, value)
    return session


def for_rows(spark: SparkSession, rows: int) -> SparkSession:
    """Return the session for plans over `rows` rows: for few rows, a session that does not compile plans."""
    return interpreting(spark) if rows <= _INTERPRETED_ROWS else spark


def leave_native_engine(spark: SparkSession) -> bool:
    """Let Spark alone run all further plans of this session and of its small plans; False if it did so before."""
    if spark.conf.get(COMET_ENABLED, "false") != "true":
        return False
    for session in (spark, interpreting(spark)):
        session.conf.set(COMET_ENABLED, "false")
    return True


def return_to_native_engine(spark: SparkSession) -> None:
    """Let Comet run the plans of this session again, after `leave_native_engine`."""
    spark.conf.set(COMET_ENABLED, "true")


@contextmanager
def shuffling(spark: SparkSession, rows: int) -> Iterator[None]:
    """Shuffle `rows` rows in pieces that fill a core's time and fit its memory; a number that the user set stays."""
    if _SHUFFLE in (name for name, _ in spark.sparkContext.getConf().getAll()):
        yield
        return
    before = spark.conf.get(_SHUFFLE, "200") or "200"
    partitions = max(spark.sparkContext.defaultParallelism, -(-rows // _ROWS_PER_TASK))
    spark.conf.set(_SHUFFLE, str(partitions))
    try:
        yield
    finally:
        spark.conf.set(_SHUFFLE, before)


@contextmanager
def interpreting_few(spark: SparkSession, rows: int, read_bytes: int) -> Iterator[None]:
    """Interpret plans for a time, if they process few rows of `read_bytes` of files; else leave the session as it is.

    Settings that the user has set stay, and so does a native engine that the user demands.
    """
    users = {name for name, _ in spark.sparkContext.getConf().getAll()} - {COMET_ENABLED}
    is_few = rows <= _FEW_ROWS and read_bytes <= _FEW_BYTES
    if not is_few or os.environ.get(ENGINE) == Engine.COMET or _INTERPRETED.keys() & users:
        yield
        return
    before = {name: spark.conf.get(name, None) for name in _INTERPRETED}
    _set(spark, _INTERPRETED)
    try:
        yield
    finally:
        _set(spark, before)


def _set(spark: SparkSession, settings: Mapping[str, str | None]) -> None:
    """Set settings of a session; None takes a setting away."""
    for name, value in settings.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@contextmanager
def planned_once(spark: SparkSession) -> Iterator[None]:
    """Plan each query once, and not again after each of its shuffles.

    For queries that reduce tables to a row: there is nothing to adapt to, and planning takes longer than the rows.
    """
    before = spark.conf.get(_ADAPTIVE, "true") or "true"
    spark.conf.set(_ADAPTIVE, "false")
    try:
        yield
    finally:
        spark.conf.set(_ADAPTIVE, before)
