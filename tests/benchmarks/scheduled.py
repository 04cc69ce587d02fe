"""The benchmark of scheduled runs: how long Airflow takes for an hour's increment, from queued to done.

    python -m tests.benchmarks.scheduled [--rows N] [--hours N] [--json OUT]

Airflow runs as `make up` starts it, on PostgreSQL. It catches up hours of the benchmark's day. The first run reads all
that arrived before; each further run reads one more hour, and is measured. Ends with 1 if a limit is broken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from tests.airflow.clone import Clone
from tests.airflow.waiting import until
from tests.airflow.whole import Whole, whole
from tests.benchmarks import alone
from tests.benchmarks.bench import FOLDER
from tests.benchmarks.events import DEFAULT_SEED, path_of
from tests.benchmarks.figures import scheduled_table
from tests.benchmarks.measurement import breaks_a_limit, measured
from tests.benchmarks.pipelines import FILE, environ_of
from tests.benchmarks.process import TaskFailedError
from tests.benchmarks.shapes import Shape

DAG = "tidemark_bench"
_FIRST_HOUR = 12
# Hours of one day a year, the day of the events: no run begins by itself while the benchmark runs.
_SCHEDULE = """
schedule: {{cron: "0 {first}-{last} 1 1 *", start: 2025-01-01, catchup: true}}
replay: {{end_of_input: keep_open}}
"""
_RUN_WITHIN_S = 900
# Airflow answers each look on the same cores. A Spark lives for several seconds.
_LOOK_S = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    options = _parser().parse_args(arguments)

    def measure() -> dict[str, Any]:
        alone.run("events", options.folder, rows=options.rows, seed=DEFAULT_SEED, shape=Shape.TUMBLING, times=1)
        return {"scheduled": _measured(path_of(options.folder, options.rows, DEFAULT_SEED), options.hours)}

    results = measured(options, measure, rows=options.rows)
    return 1 if results is None else int(breaks_a_limit(results, scheduled_table(results)))


def _measured(events: Path, hours: int) -> list[dict[str, Any]]:
    """Return a run of the history and `hours` runs of an hour. Raises TaskFailedError if a run fails."""
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as folder:
        clone = Clone.make(Path(folder) / "clone")
        text = FILE.read_text(encoding="utf-8")
        for name, value in environ_of(events.resolve()).items():
            text = text.replace(f"${{{name}}}", value)
        clone.write("bench.yaml", text + _SCHEDULE.format(first=_FIRST_HOUR, last=_FIRST_HOUR + 1 + hours))
        with whole(clone) as airflow:
            until(lambda: airflow.knows(DAG))
            starts: set[tuple[float, int]] = set()
            with airflow.client() as client:
                client.patch(f"/api/v2/dags/{DAG}", json={"is_paused": False}).raise_for_status()
            until(lambda: _have_ended(airflow, 1 + hours, starts), _RUN_WITHIN_S, every_s=_LOOK_S)
            return _figures(airflow, 1 + hours, sorted(starts))


def _runs(airflow: Whole) -> list[dict[str, Any]]:
    """Return the runs in the order of their hours."""
    runs = airflow.get(f"dags/{DAG}/dagRuns", run_type="scheduled", limit=100)["dag_runs"]
    return sorted(runs, key=lambda run: str(run["data_interval_end"]))


def _have_ended(airflow: Whole, number: int, starts: set[tuple[float, int]]) -> bool:
    """Return whether the first runs have ended. `starts` gets the start and pid of each Spark that is there now."""
    for process in airflow.spark():
        with suppress(psutil.NoSuchProcess):
            starts.add((process.create_time(), process.pid))
    states = [run["state"] for run in _runs(airflow)[:number]]
    if "failed" in states:
        raise TaskFailedError(f"run {states.index('failed') + 1} of {number} has failed in Airflow")
    return states == ["success"] * number


def _figures(airflow: Whole, number: int, starts: Sequence[tuple[float, int]]) -> list[dict[str, Any]]:
    figures, free = [], 0.0
    for run in _runs(airflow)[:number]:
        # Airflow queues a run early, and begins it when the run before has ended.
        queued, ended = max(_moment(run["queued_at"]), free), _moment(run["end_date"])
        tasks = airflow.get(f"dags/{DAG}/dagRuns/{run['dag_run_id']}/taskInstances", limit=100)["task_instances"]
        in_order = sorted((task for task in tasks if task["duration"]), key=lambda task: str(task["start_date"]))
        counts = airflow.xcom(DAG, run["dag_run_id"], "replay")["counts"]
        figures.append(
            {
                "until": run["data_interval_end"],
                "seconds": ended - queued,
                "tasks": {task["task_id"]: task["duration"] for task in in_order},
                "spark_starts": sum(queued <= start < ended for start, _ in starts),
                "rows_read": counts["rows_read"],
            }
        )
        free = ended
    return figures


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scheduled", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="how many events the day has")
    parser.add_argument("--hours", type=int, default=3, help="how many runs of an hour")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where events and logs are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
