"""Streams in which rows arrive late on purpose."""

from __future__ import annotations

import random
from typing import Any

from tests.support.streams import START_MS


def late_rows(draw: random.Random) -> list[dict[str, Any]]:
    """Rows of two partitions, of which every third comes behind many others."""
    clock_us = START_MS * 1000
    rows = []
    for number in range(draw.choice([20, 50])):
        clock_us += draw.choice([0, 0, 700, 1000, 3000])
        ts = clock_us // 1000 - draw.choice([0, 0, 1, 3, 9, 14, 26])
        marked, value = draw.choice([True, False, None]), draw.choice([ts - 1, ts - 4, None])
        columns = {"partition": draw.choice("ab"), "arrival_us": clock_us, "counts": True}
        rows.append({"id": number, "ts": ts, "mark": marked, "value": value, **columns})
    return rows
