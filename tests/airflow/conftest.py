"""What Airflow's tests share: a separate home for the Airflow in this process, clones, and jobs that are played."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

# Before anything imports Airflow, which reads them once.
_HOME = tempfile.mkdtemp(prefix="tidemark-airflow-")
os.environ.update(AIRFLOW_HOME=_HOME, AIRFLOW__CORE__LOAD_EXAMPLES="False")
(Path(_HOME) / "airflow.cfg").touch()

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook  # noqa: E402  after the lines above

from tests.airflow.clone import Clone  # noqa: E402
from tests.airflow.quality_server import _client, _dag_run, _sales, _server  # noqa: E402, F401  fixtures
from tidemark_airflow.tasks import spark_job  # noqa: E402

# What stands in for spark-submit: it takes Spark's options away and runs the script, as spark-submit does.
_SUBMIT = """#!{python}
import os, sys
script = next(i for i, word in enumerate(sys.argv) if word.endswith(".py"))
os.execv(sys.executable, [sys.executable, *sys.argv[script:]])
"""
_JOB = """
import json, pathlib, sys
print("[tidemark] replay: working")
pathlib.Path({arguments!r}).write_text(json.dumps(sys.argv[1:]))
if {result!r}:
    pathlib.Path(sys.argv[sys.argv.index("--result") + 1]).write_text({result!r})
{then}
sys.exit({code})
"""


@pytest.fixture(name="clone")
def _clone(tmp_path: Path) -> Clone:
    """A clone of the project without any pipeline file."""
    return Clone.make(tmp_path / "clone")


@pytest.fixture(name="job")
def _job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes a script that ends as the test wants, and a spark-submit to run it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    submit = folder / "spark-submit"
    submit.write_text(_SUBMIT.format(python=sys.executable), encoding="utf-8")
    submit.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setattr(spark_job, "process_environment", lambda base: {**base, "PATH": path})
    monkeypatch.setattr(spark_job, "spark_conf", lambda _: {"spark.sql.session.timeZone": "UTC"})
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "local[1]"}')

    def make(code: int, result_of_job: Mapping[str, Any] | str | None, then: str = "") -> str:
        text_of_result = (
            result_of_job if isinstance(result_of_job, str) else json.dumps(result_of_job) if result_of_job else ""
        )
        script = tmp_path / "job.py"
        text = _JOB.format(arguments=str(tmp_path / "arguments.json"), result=text_of_result, then=then, code=code)
        script.write_text(text, encoding="utf-8")
        return str(script)

    return make


@pytest.fixture(name="arguments")
def _arguments(tmp_path: Path) -> Callable[[], list[str]]:
    """Return the arguments of the script, but for the result file."""

    def read() -> list[str]:
        arguments: list[str] = json.loads((tmp_path / "arguments.json").read_text(encoding="utf-8"))
        assert arguments[-2] == "--result"
        return arguments[:-2]

    return read


@pytest.fixture(name="logged")
def _logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What operators and the hook below them log, wherever Airflow's logging of the moment would send it."""
    lines: list[str] = []

    class Log(logging.Logger):
        def _log(self, level: int, msg: object, args: Any, **_: Any) -> None:  # type: ignore[override]
            lines.append(str(msg) % args if args else str(msg))

    log = Log("test", logging.INFO)
    monkeypatch.setattr(spark_job.SparkJobOperator, "log", log)
    monkeypatch.setattr(SparkSubmitHook, "log", log)
    return lines
