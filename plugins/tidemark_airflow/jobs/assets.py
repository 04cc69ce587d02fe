"""A pipeline's published results as an asset of Airflow, for DAGs that wait for them.

    DAG(..., schedule=[results_of("departures_by_carrier")])
    schedule: {assets: ["tidemark://departures_by_carrier/results"]}         the same in another pipeline's file

An event of the asset means that a run has published; `event_extra` lists what the event contains.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import Asset, AssetAlias

from spark_jobs.job_protocol import StepResult
from spark_jobs.tables.reach import Reach
from tidemark_airflow.jobs.request import Request

#: The outlet of publishing tasks; an event goes to a pipeline's asset only if something was published.
PUBLISHED = AssetAlias("tidemark")


def results_of(pipeline: str) -> Asset:
    """Return the asset of a pipeline's published results."""
    return Asset(f"tidemark://{pipeline}/results")


def is_repair(extra: Mapping[str, Any]) -> bool:
    """True if the event is about repaired windows, and nothing else."""
    return bool((extra.get("counts") or {}).get("repaired_windows"))


def event_extra(
    result: StepResult,
    request: Request | None = None,
    counts: Mapping[str, int] | None = None,
    reached: Reach = Reach(),  # noqa: B008  it is frozen
) -> dict[str, Any]:
    """Return the content of an event: run, windows, arrivals, how far the tables have come, counts, checks, versions.

    `result` is that of publishing; `counts` are those of all steps, by default its own. Moments are ISO 8601, None is
    without bound. A watermark that is not known is None.
    """
    rows = dict(result.counts if counts is None else counts)
    checks = {name: rows.pop(f"checks_{name}", None) for name in ("passed", "failed")}
    bounds: Mapping[str, Any] = request or {}
    return {
        "pipeline": result.pipeline,
        "run_id": result.run_id,
        "from": bounds.get("start") or None,
        "to": bounds.get("end") or None,
        "arrived_to": bounds.get("arrived_to") or None,
        "covered_until": _iso(reached.covered_until),
        "watermark": _iso(reached.watermark),
        "counts": rows,
        "checks": checks,
        "versions": dict(result.versions),
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat()
