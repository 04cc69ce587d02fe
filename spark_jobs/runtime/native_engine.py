"""The native engine, Apache DataFusion Comet: whether a driver uses it, and its settings.

Comet runs scans, aggregations, joins and shuffles of Spark's plans as native code. Spark runs what Comet cannot, so a
plan has the same rows with either. `TIDEMARK_ENGINE` chooses: `comet`, `spark`, or `auto`, which is Comet where this
machine can run it and the driver runs all tasks itself.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from spark_jobs.runtime import comet_library
from spark_jobs.runtime.errors import AGAIN, RuntimeSetupError
from spark_jobs.runtime.jars import has_comet

ENGINE = "TIDEMARK_ENGINE"
#: The setting of a session by which Comet runs its plans; it can be changed between two plans.
COMET_ENABLED = "spark.comet.enabled"

# Comet's library is compiled for these processors. Another one would end the driver with an illegal instruction.
_CPU_FEATURES: Mapping[str, tuple[str, frozenset[str]]] = {
    "x86_64": ("x86-64-v3", frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})),
    "aarch64": ("Neoverse N1", frozenset({"atomics", "asimddp", "asimdhp", "fphp", "lrcpc"})),
}
_CPU_INFO = Path("/proc/cpuinfo")
_OLDEST_GLIBC = (2, 30)

# Spark computes these expressions itself. Comet brings its own database of time zones, and it may be older or newer
# than the database of this Java. Comet's functions of real numbers differ in the last digit. In a window frame, Comet
# looks for the last value that is not null in all rows before: the time is quadratic in the rows of a partition.
_LEFT_TO_SPARK = (
    *("ConvertTimezone", "FromUTCTimestamp", "GetTimestamp", "MakeTimestamp", "ToUTCTimestamp", "ToUnixTimestamp"),
    "UnixTimestamp",
    *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "Cbrt", "Cos", "Cosh", "Cot", "Csc", "Exp", "Expm1"),
    *("Hypot", "Log", "Log10", "Log1p", "Log2", "Logarithm", "Pow", "Sec", "Sin", "Sinh", "Tan", "Tanh"),
    "Last",
)

# Comet has one switch for all casts, so Spark alone runs a pipeline whose SQL makes such a cast. A timestamp of a text
# may name a time zone. Bytes that no column of the source holds may be no UTF-8, and Comet replaces what is not.
_TIME_OF_TEXT = re.compile(
    r"""\bas\s+timestamp(_ltz)?\b | ::\s*timestamp(_ltz)?\b | \b(try_)?to_timestamp(_ltz)?\s*\( | \btimestamp\s*\(""",
    re.IGNORECASE | re.VERBOSE,
)
_BYTES_OF_TEXT = re.compile(
    r"\b(unhex|unbase64|(try_)?to_binary|encode|(try_)?aes_decrypt|try_zstd_decompress|zstd_decompress)\s*\(|\bX'",
    re.IGNORECASE,
)

_MEMORY = re.compile(r"(?P<number>\d+)(?P<unit>[kmgt]?)b?", re.IGNORECASE)
_MEBIBYTES: Mapping[str, float] = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024 * 1024, "": 1}


class Engine(StrEnum):
    """What runs the plans of Spark, by `TIDEMARK_ENGINE`."""

    AUTO = "auto"
    COMET = "comet"
    SPARK = "spark"


def uses_comet(environ: Mapping[str, str], master: str, report: Callable[[str], None]) -> bool:
    """Return whether a driver of this master uses Comet. Reports once why `auto` does not.

    Raises RuntimeSetupError for an engine of another name, and for Comet on a machine that cannot run it.
    """
    text = environ.get(ENGINE) or Engine.AUTO
    if text not in tuple(Engine):
        raise RuntimeSetupError.unknown_engine(ENGINE, text, [*Engine])
    if text == Engine.SPARK:
        return False
    reason = obstacle() or (None if has_comet() else f"Comet's jar is not installed; to fetch it, {AGAIN}")
    if text == Engine.COMET and reason is not None:
        raise RuntimeSetupError.no_native_engine(ENGINE, reason)
    if text == Engine.AUTO and reason is None and not _is_local(master):
        # The executors may be other machines, and their memory is set where the cluster is.
        reason = f"the executors of {master} may be other machines"
    if reason is not None:
        report(f"engine: Spark without Comet: {reason}. {ENGINE}=spark chooses this without a message")
    return reason is None


def obstacle() -> str | None:
    """Return why this machine cannot run Comet; None if it can."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    if sys.platform != "linux" or machine not in _CPU_FEATURES:
        return f"Comet has no build for {platform.system()} on {machine}"
    library, version = platform.libc_ver()
    if library != "glibc" or _numbers(version) < _OLDEST_GLIBC:
        oldest = ".".join(map(str, _OLDEST_GLIBC))
        return f"Comet needs glibc {oldest} or newer, and this system has {library or 'another C library'} {version}"
    level, features = _CPU_FEATURES[machine]
    if missing := sorted(features - _cpu_features()):
        return f"Comet needs a processor of level {level}, and this processor lacks {', '.join(missing)}"
    return None


def comet_conf(native_mebibytes: int) -> dict[str, str]:
    """Return the settings of a session that uses Comet, with memory for native code outside of Java's heap."""
    return {
        "spark.plugins": "org.apache.spark.CometPlugin",
        "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": f"{native_mebibytes}m",
        "spark.driver.extraLibraryPath": str(comet_library.folder()),
        "spark.executor.extraLibraryPath": str(comet_library.folder()),
        COMET_ENABLED: "true",
        "spark.comet.exec.localTableScan.enabled": "true",
        "spark.comet.exec.range.enabled": "true",
        # -0.0 and 0.0 are one key for Spark, as they are for Flink. Comet then leaves some sorts to Spark.
        "spark.comet.exec.strictFloatingPoint": "true",
        **{f"spark.comet.expression.{name}.enabled": "false" for name in _LEFT_TO_SPARK},
    }


def unlike_spark(expression: str) -> str | None:
    """Return why Comet may compute another value of an expression than Spark; None if no such reason is known.

    The reason is by the text alone, so it may name what the rows do not contain.
    """
    if _TIME_OF_TEXT.search(expression):
        return "a text becomes a timestamp, and may name a time zone"
    if _BYTES_OF_TEXT.search(expression):
        return "an expression makes bytes, which may be no UTF-8"
    return None


def split_memory(variable: str, memory: str) -> tuple[int, int]:
    """Return the mebibytes of Java's heap and of native code, of a driver's memory as Spark writes it.

    Raises RuntimeSetupError with the name of the variable for a text that is no amount of memory.
    """
    match = _MEMORY.fullmatch(memory.strip())
    if match is None:
        raise RuntimeSetupError.no_memory(variable, memory)
    whole = int(int(match["number"]) * _MEBIBYTES[match["unit"].lower()])
    return whole - whole // 4, whole // 4


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _cpu_features() -> frozenset[str]:
    """Return the features of the first processor, as Linux names them; none if Linux hides them."""
    try:
        lines = _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    listed = (line.partition(":")[2] for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(listed, "").split())


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
