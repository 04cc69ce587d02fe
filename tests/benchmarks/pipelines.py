"""The benchmark's pipeline over a table of events, with a shape, for this process and for the command `tidemark`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from spark_jobs.pipeline import Pipeline, load
from spark_jobs.tables.lake import Lake
from tests.benchmarks.shapes import OVERRIDES, Shape

FILE = Path(__file__).parent / "bench.yaml"

#: Emissions other than that of the file: how often the watermark moves.
PER_EVENT = {"watermark.emit": "per_event"}
EVERY_SECOND = {"watermark.emit": "{every: 1 second}"}


def pipeline_of(events: Path, shape: Shape = Shape.TUMBLING, settings: Mapping[str, str] | None = None) -> Pipeline:
    """Return the benchmark's pipeline; `settings` override more of it."""
    return load(FILE, environ=environ_of(events), overrides={**OVERRIDES[shape], **(settings or {})})


def environ_of(events: Path | str) -> dict[str, str]:
    """Return the variables that the file reads; `TIDEMARK_BENCH_SIZE` may set the length of its windows."""
    size = os.environ.get("TIDEMARK_BENCH_SIZE") or "10 minutes"
    return {"TIDEMARK_BENCH_EVENTS": str(events), "TIDEMARK_BENCH_SIZE": size}


def lake_of(out: Path) -> Lake:
    """Return the tables of the pipeline in a lake."""
    return Lake(str(out), "bench")
