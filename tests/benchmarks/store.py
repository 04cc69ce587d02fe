"""The benchmark of an object store: a whole run on a Spark cluster, with all tables in a folder, and in an S3 store.

    python -m tests.benchmarks.store [--rows N] [--repeat N] [--json OUT]

The cluster is Spark's own, with three workers of a core each, and the store is an S3 gateway. Both are on this machine,
so the gateway takes its share of the cores. Source and lake are in the same place. Both runs take turns. Ends with 1 if
their counts differ or a limit is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from spark_jobs.tables.objects import Objects
from tests.airflow.standalone import Standalone, standalone
from tests.benchmarks import alone, pipelines, process
from tests.benchmarks.bench import FOLDER
from tests.benchmarks.events import DEFAULT_SEED, path_of
from tests.benchmarks.figures import store_table
from tests.benchmarks.measurement import breaks_a_limit, measured
from tests.benchmarks.shapes import Shape
from tests.support.gateway import gateway
from tests.support.object_store import BUCKET

#: The places, in their turn.
IN_A_FOLDER, IN_A_STORE = "folder", "store"
_WORKERS, _CORES, _MEMORY = 3, 1, "2g"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    options = _parser().parse_args(arguments)

    def measure() -> dict[str, Any]:
        alone.run("events", options.folder, rows=options.rows, seed=DEFAULT_SEED, shape=Shape.TUMBLING, times=1)
        return {"store": _measured(path_of(options.folder, options.rows, DEFAULT_SEED).resolve(), options)}

    results = measured(options, measure, rows=options.rows, repeat=options.repeat)
    if results is None:
        return 1
    is_broken = breaks_a_limit(results, store_table(results))
    counts = [run["counts"] for runs in results["store"].values() for run in runs]
    if any(each != counts[0] for each in counts):
        print(f"error: the counts of the runs differ: {counts}", file=sys.stderr)
        return 1
    return int(is_broken)


def _measured(events: Path, options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Return the runs in each place. Raises TaskFailedError."""
    runs: dict[str, list[dict[str, Any]]] = {IN_A_FOLDER: [], IN_A_STORE: []}
    with (
        tempfile.TemporaryDirectory(prefix="tidemark-bench-") as folder,
        gateway() as variables,
        patch.dict(os.environ, variables),
        standalone(Path(folder) / "cluster", workers=_WORKERS, cores=_CORES, memory=_MEMORY) as cluster,
    ):
        in_store = f"s3a://{BUCKET}/events"
        _upload(events, in_store)
        for turn in range(options.repeat):
            lake = Path(folder) / "lake"
            runs[IN_A_FOLDER].append(_run(cluster, str(events), str(lake), options.folder))
            shutil.rmtree(lake)
            lake_in_store = f"s3a://{BUCKET}/lake-{turn}"
            runs[IN_A_STORE].append(_run(cluster, in_store, lake_in_store, options.folder))
            Objects(lake_in_store).remove("bench")
    return runs


def _upload(events: Path, target: str) -> None:
    objects = Objects(target)
    for file in events.rglob("*"):
        if file.is_file():
            objects.write(str(file.relative_to(events)), file.read_bytes())


def _run(cluster: Standalone, events: str, lake: str, folder: Path) -> dict[str, Any]:
    """Return the seconds and the counts of a whole run. Raises TaskFailedError."""
    environ = {
        **os.environ,
        **pipelines.environ_of(events),
        "TIDEMARK_LAKE": lake,
        "TIDEMARK_SPARK_MASTER": cluster.master,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_EXECUTOR_MEMORY": _MEMORY,
    }
    command = [sys.executable, "-m", "spark_jobs.cli", "replay", str(pipelines.FILE), "--json"]
    print(f"==> {lake}", file=sys.stderr, flush=True)
    answer = folder / "store.out"
    ended = process.run("a run on the cluster", command, output=answer, log=folder / "store.log", environ=environ)
    result = json.loads(answer.read_text(encoding="utf-8"))
    print(f"    {ended.seconds:.1f} s", file=sys.stderr, flush=True)
    steps = {step["step"]: step["seconds"] for step in result["steps"]}
    return {"process_seconds": ended.seconds, "steps": steps, "counts": result["counts"]}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="store", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000_000, help="how many events the day has")
    parser.add_argument("--repeat", type=int, default=3, help="how many runs in each place")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where events and logs are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
