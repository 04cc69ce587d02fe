"""The machine that a benchmark ran on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import spark_jobs
from spark_jobs.runtime.java import require_java


def describe() -> dict[str, object]:
    """Cores, memory, load, versions and the time (UTC)."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "cores": len(os.sched_getaffinity(0)),
        "cpu": _cpu(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_before": round(os.getloadavg()[0], 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "java": require_java(os.environ).version,
        "spark": version("pyspark"),
        "delta": version("delta-spark"),
        "tidemark": spark_jobs.__version__,
    }


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    git = shutil.which("git")
    if git is None:
        return ""
    result = subprocess.run([git, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return result.stdout.strip()
