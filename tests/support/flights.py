"""The pipeline of the main job."""

from __future__ import annotations

from pathlib import Path

PIPELINE = Path(__file__).parents[2] / "dags" / "pipelines" / "departures_by_carrier.yaml"
