"""Runs tests as asked, a line of paths a run, with all of the project imported anew and one Spark for all runs."""

from __future__ import annotations

import os
import sys

import pytest

_ANEW = ("spark_jobs", "expectations", "tests", "conftest")
_KEPT = ("spark_jobs.runtime", "tests.mutation")


def main() -> None:
    """Answer each line with `verdict passed` or `verdict failed`."""
    os.environ.setdefault("TIDEMARK_SPARK_MASTER", "local[2]")
    os.environ.setdefault("TIDEMARK_DRIVER_MEMORY", "2g")
    told = "--conf spark.buffer.pageSize=1m --conf spark.python.worker.reuse=false pyspark-shell"
    os.environ["PYSPARK_SUBMIT_ARGS"] = told
    from pyspark.sql import SparkSession

    from spark_jobs.session import open_session

    open_session("tidemark mutation")
    # The tests' own session is this one, and each run would stop it at its end.
    SparkSession.stop = lambda session: None  # type: ignore[method-assign]
    for line in sys.stdin:
        for name in [n for n in sys.modules if n.split(".")[0] in _ANEW and not n.startswith(_KEPT)]:
            del sys.modules[name]
        quiet = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not soak and spark"]
        failed = pytest.main([*quiet, *line.split()])
        sys.stdout.write(f"\nverdict {'failed' if failed else 'passed'}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
