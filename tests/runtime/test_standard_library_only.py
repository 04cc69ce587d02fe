"""Set-up runs before there is anything but Python, and Airflow's plugins load it: it imports no package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import spark_jobs.runtime

DOCKERFILE = Path(spark_jobs.runtime.__file__).parents[2] / "docker" / "Dockerfile"
# Its exit codes and error codes are those of all programs, and import the standard library alone too.
SHARED = "spark_jobs.error_codes spark_jobs.job_protocol"
SCRIPT = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import spark_jobs.runtime as package
for module in pkgutil.iter_modules(package.__path__):
    importlib.import_module(f"spark_jobs.runtime.{module.name}")
print(*sorted(name for name in sys.modules if name.startswith("spark_jobs.") and "runtime" not in name))
"""


def test_runtime_imports_neither_packages_nor_the_project_but_two_shared_modules() -> None:
    root = Path(spark_jobs.runtime.__file__).parents[2]
    # -S leaves installed packages out, so importing one would fail.
    command = [sys.executable, "-I", "-S", "-c", SCRIPT, str(root)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == SHARED


def test_the_image_has_these_modules_before_its_set_up() -> None:
    before, _, _ = DOCKERFILE.read_text(encoding="utf-8").partition("-m spark_jobs.runtime setup")
    copied = next(line.split()[1:-1] for line in before.splitlines() if line.startswith("COPY spark_jobs/__init__.py"))
    modules = {file.removesuffix(".py").replace("/", ".") for file in copied}
    assert modules == {"spark_jobs.__init__", *SHARED.split()}
