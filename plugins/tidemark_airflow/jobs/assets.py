"""A pipeline's published results as an asset of Airflow, for DAGs that wait for them.

    DAG(..., schedule=[results_of("departures_by_carrier")])
    schedule: {assets: ["tidemark://departures_by_carrier/results"]}         the same in the file of another pipeline

An event of it means that a run has published something, and says what: see `event_extra`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset, AssetAlias

#: What publishing tasks have as their outlet: only one that has published something tells of its pipeline's asset.
PUBLISHED = AssetAlias("tidemark")

_BOUNDS = {"from": "start", "to": "end", "arrived_to": "arrived_to"}


def results_of(pipeline: str) -> Asset:
    """The asset of what a pipeline has published."""
    return Asset(f"tidemark://{pipeline}/results")


def is_repair(extra: Mapping[str, Any]) -> bool:
    """Whether an event tells of windows that were repaired, and of nothing else."""
    return bool((extra.get("counts") or {}).get("repaired_windows"))


def event_extra(plan: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """What an event tells of the run: its id, the windows and arrivals that were asked for, counts, checks, versions.

    `plan` is what the task `plan` has returned, `said` what publishing has, with the counts of the steps before it.
    Moments are ISO 8601, None is without bound.
    """
    request = plan["request"]
    asked = {name: request.get(key) or None for name, key in _BOUNDS.items()}
    counts = dict(said.get("counts") or {})
    checks = {name: counts.pop(f"checks_{name}", None) for name in ("passed", "failed")}
    return {
        "pipeline": plan["pipeline"],
        "run_id": said["run_id"],
        **asked,
        "counts": counts,
        "checks": checks,
        "versions": dict(said.get("versions") or {}),
    }
