"""Random histories that are cut into slices."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from spark_jobs.pipeline import Pipeline
from tests.support import history

ROWS = 260


def drawn_rows(draw: random.Random) -> list[dict[str, Any]]:
    """Rows in the order of arrival; times often meet ticks and the ends of windows."""
    stored, rows = history.START, []
    sites = draw.sample(["north", "south", "east"], draw.randint(1, 3))
    for i in range(ROWS):
        stored += timedelta(seconds=draw.choice([0, 1, 7, 30, 30, 60, 90, 400]))
        delay = draw.choice([0, 0, 1, 10, 10, 30, 60, 120, 600] if draw.random() < 0.93 else [2400, 9000, 40_000, -90])
        row = {
            "id": i,
            "site": draw.choice(sites) if i > ROWS // 3 else sites[0],
            "device": draw.choice(["a", "b", None]),
            "happened_at": stored - timedelta(seconds=delay),
            "stored_at": stored,
            "reading": draw.randrange(-40, 200) / 4,
        }
        if draw.random() < 0.03:
            row[draw.choice(["happened_at", "stored_at"])] = None
        rows.append(row)
    return rows


def drawn_pipeline(draw: random.Random, table: str) -> Pipeline:
    """Mostly of those that go on where the last run has ended."""
    return history.pipeline(table, **drawn_settings(draw))


def drawn_settings(draw: random.Random) -> dict[str, str]:
    """Return the settings of a drawn pipeline, as `history.pipeline` takes them."""
    overrides = {
        "watermark__out_of_orderness": draw.choice(["0s", "10s", "1 minute", "20 minutes"]),
        "watermark__emit": "{every: " + draw.choice(["1s", "30s", "7 minutes"]) + "}",
        "watermark__placement": draw.choice(["source", "after_where"]),
        "windows__size": draw.choice(["1 minute", "10 minutes", "37 minutes", "3 hours"]),
        "windows__allowed_lateness": draw.choice(["0s", "3 minutes", "10 minutes", "2 hours"]),
        "windows__accumulation": draw.choice(["accumulating", "accumulating", "discarding", "retracting"]),
        "windows__late_data": draw.choice(["side_output", "side_output", "drop"]),
        "quality__max_too_late_ratio": "1",
    }
    if draw.random() < 0.2:
        overrides["windows__late_panes"] = "per_epoch"
    if draw.random() < 0.4:
        slide = draw.choice(["4 minutes", "10 minutes", "25 minutes", "1 hour"])
        overrides |= {"windows__kind": "sliding", "windows__slide": slide}
    elif draw.random() < 0.2:
        gap = draw.choice(["20 seconds", "5 minutes"])
        overrides |= {"windows__kind": "session", "windows__gap": gap, "windows__size": "null"}
        overrides |= {"windows__accumulation": "accumulating", "windows__late_data": "side_output"}
        overrides.pop("windows__late_panes", None)
    if draw.random() < 0.15:
        overrides["watermark__idle_timeout"] = "45 seconds"
    return overrides
