"""The meaning stands alone: it runs where nothing but Python is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import spark_jobs.semantics

SCRIPT = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import spark_jobs.semantics as package
for module in pkgutil.walk_packages(package.__path__, "spark_jobs.semantics."):
    importlib.import_module(module.name)
print(*(name for name in sys.modules if name.startswith("spark_jobs.") and "semantics" not in name))
"""


def test_semantics_imports_neither_packages_nor_the_rest_of_the_project() -> None:
    root = Path(spark_jobs.semantics.__file__).parents[2]
    # -S leaves installed packages out, so importing one would fail.
    command = [sys.executable, "-I", "-S", "-c", SCRIPT, str(root)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == ""
