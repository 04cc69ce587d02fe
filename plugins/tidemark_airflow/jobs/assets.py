"""A pipeline's published results as an asset of Airflow, for DAGs that wait for them.

    DAG(..., schedule=[results_of("departures_by_carrier")])
    schedule: {assets: ["tidemark://departures_by_carrier/results"]}         the same in another pipeline's file

An event of the asset means that a run has published; `event_extra` lists what the event contains.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset, AssetAlias

from spark_jobs.job_protocol import StepResult
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
    result: StepResult, request: Request | None = None, counts: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Return the content of an event: run, requested windows and arrivals, counts, checks, versions of tables.

    `result` is that of publishing; `counts` are those of all steps, by default its own. Moments are ISO 8601, None is
    without bound.
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
        "counts": rows,
        "checks": checks,
        "versions": dict(result.versions),
    }
