"""Many pipeline files: read within Airflow's limits, and a broken one among them harms none."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.airflow.clone import Clone

pytestmark = [pytest.mark.airflow, pytest.mark.soak]

MANY = 200

# As the DAG processor does: a process for the file, which Airflow ends at its limit, and the DAGs as they are stored.
_TIMED = """
import json, sys, time
from pathlib import Path
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import conf
from airflow.serialization.serialized_objects import DagSerialization
began = time.monotonic()
bag = DagBag(sys.argv[1])
for dag in bag.dags.values():
    json.dumps(DagSerialization.to_dict(dag))
print("TIMED" + json.dumps({
    "seconds": time.monotonic() - began,
    "import_limit": conf.getfloat("core", "dagbag_import_timeout"),
    "limit": conf.getfloat("dag_processor", "dag_file_processor_timeout"),
    "dags": sorted(bag.dags),
    "errors": list(bag.import_errors.values()),
}))
"""


def test_two_hundred_pipelines_are_read_within_the_limits_of_the_dag_processor(clone: Clone) -> None:
    for i in range(MANY):
        clone.add(f"pipeline_{i}", more='schedule: "@hourly"\nrepair: {max_too_late_rows: 10}\n')
    broken = clone.write("broken.yaml", "name: broken\nsource: {tabel: x}\n")
    process = subprocess.run(
        [sys.executable, "-c", _TIMED, str(clone.root / "dags")],
        env=clone.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    line = next((line for line in process.stdout.splitlines() if line.startswith("TIMED")), None)
    assert line is not None, process.stdout + process.stderr
    result = json.loads(line.removeprefix("TIMED"))
    assert len(result["dags"]) == 2 * MANY + 2
    (error,) = result["errors"]
    assert str(broken) in error
    assert result["seconds"] < min(result["limit"], result["import_limit"])
    sys.stdout.write(f"{MANY} pipelines in {result['seconds']:.1f} s\n")
