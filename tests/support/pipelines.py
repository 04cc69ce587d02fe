"""Pipelines over the small history: sessions, sliding windows, custom watermarks."""

from __future__ import annotations

from spark_jobs.pipeline import Pipeline
from tests.support import history


def sessions(table: str, **overrides: str) -> Pipeline:
    gap = {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"}
    return history.pipeline(table, **{**gap, **overrides})


SHAPES = {
    "overlapping": {
        "windows__size": "25 minutes",
        "windows__slide": "10 minutes",
        "windows__offset": "3 minutes",
        "windows__allowed_lateness": "50 minutes",
    },
    "with gaps": {
        "windows__size": "10 minutes",
        "windows__slide": "15 minutes",
        "watermark__emit": "{every_n: 7}",
        "windows__allowed_lateness": "2 minutes",
    },
}


def sliding(table: str, **more: str) -> Pipeline:
    return history.pipeline(table, windows__kind="sliding", **more)


def detecting(table: str, **overrides: str) -> Pipeline:
    """Bounds that each site learns from its own rows."""
    custom = {
        "watermark__strategy": "custom",
        "watermark__out_of_orderness": "null",
        "watermark__class": "spark_jobs.semantics.detected_bound:DetectedBound",
        "watermark__arguments": "{rows: 40, warm_up: 5}",
        "watermark__idle_timeout": "2 minutes",
        "quality__max_too_late_ratio": "1",
    }
    return history.pipeline(table, **{**custom, **overrides})
