"""The services of compose.yaml work together with its settings: started by hand, used by Airflow."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.docker.by_hand import NAME, TABLE
from tests.docker.installation import FOLDER, PROJECT, Compose
from tests.support.compose_secrets import make_secrets
from tests.support.gateway import program

pytestmark = [pytest.mark.soak, pytest.mark.airflow, pytest.mark.spark]

PIPELINE = """
name: {name}
source:
  table: {table}
  event_time: happened_at
  arrival_time: stored_at
  source_partition: [site]
  tie_break: [id]
watermark:
  out_of_orderness: 5 minutes
  emit: {{every: 1 minute}}
windows:
  size: 15 minutes
  key: [device]
  allowed_lateness: 1 hour
  aggregates:
    readings: count(*)
    highest: max(reading)
"""

_WITHIN_S = 3000


@pytest.fixture(name="observations", scope="module")
def _observations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was seen of the installation while a pipeline ran through it."""
    if os.geteuid() != 0:
        pytest.skip("a network and a file system of its own need root here")
    folder = tmp_path_factory.mktemp("installation")
    _lay_out(folder)
    private = [
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--propagation",
        "private",
    ]
    with (folder / "by_hand.out").open("wb") as out:
        process = subprocess.run(
            [*private, sys.executable, "-m", "tests.docker.by_hand", str(folder)],
            cwd=PROJECT,
            env={
                **os.environ,
                "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
                "PYTHONPATH": f"{PROJECT}:{PROJECT / 'plugins'}",
            },
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=_WITHIN_S,
        )
    assert process.returncode == 0, (folder / "by_hand.out").read_text(encoding="utf-8", errors="replace")[-8000:]
    observations: dict[str, Any] = json.loads((folder / "seen.json").read_text(encoding="utf-8"))
    return observations


def _lay_out(folder: Path) -> None:
    """What make-secrets and the image's build leave: the secrets, the code, and the program of the object store."""
    make_secrets(folder)
    image = folder / "image"
    (image / "dags" / "pipelines").mkdir(parents=True)
    for file in (PROJECT / "dags").glob("*.py"):
        shutil.copy(file, image / "dags")
    for name in ("spark_jobs", "plugins", "expectations"):
        (image / name).symlink_to(PROJECT / name)
    (image / ".venv").symlink_to(sys.prefix)
    shutil.copytree(FOLDER / "spark", image / "docker" / "spark")
    for name in ("healthy.py", "with-keys"):
        shutil.copy(FOLDER / name, image / "docker")
    shutil.copy(PROJECT / "spark_jobs" / "runtime" / "conf" / "log4j2.properties", image / "docker" / "spark")
    pipeline = PIPELINE.format(name=NAME, table=TABLE)
    (image / "dags" / "pipelines" / f"{NAME}.yaml").write_text(pipeline, encoding="utf-8")
    (folder / "bin").mkdir()
    (folder / "bin" / "versitygw").symlink_to(program())


def test_every_service_becomes_what_the_others_ask_of_it(observations: Mapping[str, Any]) -> None:
    assert set(observations["started"]) == set(Compose({}).services)


def test_a_pipeline_publishes_the_results_of_the_reference(observations: Mapping[str, Any]) -> None:
    steps = dict.fromkeys(("plan", "replay", "audit", "publish", "report"), "success")
    assert observations["tasks"] == {**steps, "report_if_blocked": "skipped"}
    count, unit = observations["compared"].split()
    assert unit == "windows"
    assert int(count) > 50
    status, size = observations["report"]
    assert (status, size > 10_000) == (200, True)


def test_all_workers_took_part_in_the_run(observations: Mapping[str, Any]) -> None:
    assert len(observations["workers"]) == 3
    for worker in observations["workers"].values():
        names = {executor["appdesc"]["name"] for executor in worker["finishedexecutors"]}
        # The first plan needs Spark, and its application takes the steps behind it too.
        assert f"tidemark plan {NAME}" in names


def test_the_lake_is_in_the_object_store(observations: Mapping[str, Any]) -> None:
    assert set(observations["tables_in_store"]) >= {"late_events", "panes", "window_results", "runs"}


def test_secrets_are_in_no_command_and_no_log(observations: Mapping[str, Any]) -> None:
    assert observations["logs"] > len(observations["started"])
    assert observations["commands_with_secrets"] == []
    assert observations["logs_with_secrets"] == []


def test_airflow_requires_a_login(observations: Mapping[str, Any]) -> None:
    assert observations["without_login"] == 401
