"""A clone of the project for a test: its own DAG files, pipelines, lake and Airflow; the code is the project's."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark_airflow.embedded.installation import Installation

PROJECT = Path(__file__).resolve().parents[2]

PIPELINE = """
name: {name}
source:
  table: {table}
  event_time: at
  arrival_time: known_at
watermark:
  out_of_orderness: 1 hour
windows:
  size: 1 hour
  key: [place]
  aggregates: {{n: count(*)}}
"""

# What a parsed DAG folder looks like from outside, as JSON.
_PARSE = """
import json, sys
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization
bag = DagBag(sys.argv[1])
print("PARSED" + json.dumps({
    "errors": bag.import_errors,
    "modules": sorted({name.partition(".")[0] for name in sys.modules}),
    "dags": {dag.dag_id: {
        "order": [task.task_id for task in dag.topological_sort()],
        "edges": sorted([a.task_id, b] for a in dag.tasks for b in a.downstream_task_ids),
        "retries": {task.task_id: task.retries for task in dag.tasks},
        "mapped": [task.task_id for task in dag.tasks if task.is_mapped],
        "limits": {task.task_id: task.max_active_tis_per_dagrun for task in dag.tasks},
        "pools": {task.task_id: task.pool for task in dag.tasks},
        "serialized": bool(json.dumps(DagSerialization.to_dict(dag))),
        "timetable": type(dag.timetable).__name__,
        "assets": sorted(asset.uri for asset in getattr(dag.timetable.asset_condition, "objects", ())),
        "outlets": {task.task_id: [outlet.name for outlet in task.outlets] for task in dag.tasks if task.outlets},
        "expression": getattr(dag.timetable, "expression", None),
        "timezone": str(getattr(dag.timetable, "timezone", None)),
        "active_runs": dag.max_active_runs,
        "active_tasks": dag.max_active_tasks,
        "catchup": dag.catchup,
        "start": dag.start_date.isoformat(),
        "params": dag.params.dump(),
        "description": dag.description,
        "doc": dag.doc_md,
        "tags": sorted(dag.tags),
        "owner": dag.owner,
        "request": found if isinstance(found := getattr(dag.task_dict.get("plan"), "request", None), dict) else None,
    } for dag in bag.dags.values()},
}))
"""


@dataclass(frozen=True)
class Clone:
    """A folder that looks like a clone."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> Clone:
        """Make it, with the project's DAG files and without its pipeline files."""
        (root / "dags" / "pipelines").mkdir(parents=True)
        for file in (PROJECT / "dags").glob("*.py"):
            shutil.copy(file, root / "dags")
        for folder in ("plugins", "spark_jobs", "expectations"):
            (root / folder).symlink_to(PROJECT / folder)
        return cls(root)

    @property
    def lake(self) -> Path:
        return self.root / "lake"

    def installation(self, name: str = "airflow", port: int | None = None) -> Installation:
        return Installation(self.root, self.root / ".tidemark" / name, port or free_port())

    def write(self, file: str, text: str) -> Path:
        """Write a pipeline file."""
        path = self.root / "dags" / "pipelines" / file
        path.write_text(text, encoding="utf-8")
        return path

    def add(self, name: str, *, more: str = "", table: str = "${TIDEMARK_LAKE}/events") -> Path:
        """Write a good pipeline file."""
        return self.write(f"{name}.yaml", PIPELINE.format(name=name, table=table) + more)

    def environment(self) -> dict[str, str]:
        """The variables of a process of this clone's Airflow."""
        installation = self.installation()
        installation.make()
        variables = installation.variables({k: v for k, v in os.environ.items() if not k.startswith("AIRFLOW")})
        return {**variables, "TIDEMARK_LAKE": str(self.lake)}

    def parse(self) -> dict[str, Any]:
        """Parse its DAG folder in a separate process."""
        return parse(self.root / "dags", self.environment())


def parse(folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Parse a DAG folder in a separate process."""
    process = subprocess.run(
        [sys.executable, "-c", _PARSE, str(folder)], env=environment, capture_output=True, text=True, check=False
    )
    line = next((line for line in process.stdout.splitlines() if line.startswith("PARSED")), None)
    assert line is not None, process.stdout + process.stderr
    result: dict[str, Any] = json.loads(line.removeprefix("PARSED"))
    return result


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
