"""Run the tests of each request, a line of ids a run, with the project imported anew and one Spark for all runs."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.mutation.reach import Measured

_ANEW = ("spark_jobs", "expectations", "tests", "conftest")
_KEPT = ("spark_jobs.runtime", "tests.mutation")


def main() -> None:
    """Answer each line, a JSON list of ids, with `verdict passed` or `verdict failed`.

    Given a folder and a file: measure which tests reach which lines below the folder, and write it to the file.
    """
    os.environ.setdefault("TIDEMARK_SPARK_MASTER", "local[2]")
    os.environ.setdefault("TIDEMARK_DRIVER_MEMORY", "2g")
    arguments = "--conf spark.buffer.pageSize=1m --conf spark.python.worker.reuse=false pyspark-shell"
    os.environ["PYSPARK_SUBMIT_ARGS"] = arguments
    from pyspark.sql import SparkSession

    from spark_jobs.session import open_session

    open_session("tidemark mutation")
    # The tests' own session is this one, and each run would stop it at its end.
    SparkSession.stop = lambda self: None  # type: ignore[method-assign]
    for line in sys.stdin:
        request = json.loads(line)
        passed = _measure(request["tests"], *request["reach"]) if request.get("reach") else _passes(request["tests"])
        sys.stdout.write(f"\nverdict {'passed' if passed else 'failed'}\n")
        sys.stdout.flush()


def _measure(tests: list[str], folder: str, target: str) -> bool:
    with Measured(Path.cwd(), Path(folder)) as measured:
        passed = _passes(tests, measured)
    Path(target).write_text(json.dumps(asdict(measured.reach())), encoding="utf-8")
    return passed


def _passes(tests: list[str], *plugins: object) -> bool:
    for name in [n for n in sys.modules if n.split(".")[0] in _ANEW and not n.startswith(_KEPT)]:
        del sys.modules[name]
    quiet = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "spark and (judge or not soak)"]
    # A file may have no test with Spark.
    return pytest.main([*quiet, *tests], plugins=plugins) in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


if __name__ == "__main__":
    main()
