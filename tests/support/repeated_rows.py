"""Rows that come more than once, and rows that break rules: with other times, as identical copies, without a name."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from tests.support import history

#: Settings of `history.pipeline` that leave such rows out.
SETTINGS = {
    "source__deduplicate": "[id]",
    "quality__expectations": "[{type: expect_column_values_to_be_between, table: source, column: reading, "
    "min_value: -35, max_value: 45, on_failure: quarantine, mostly: 0.5}]",
}


def rows(count: int = 1500, seed: int = 11) -> list[dict[str, Any]]:
    """Return the small history; one row in eight comes again, up to hours later, sometimes with another event time."""
    draw = random.Random(seed)
    once = history.events(count)
    again = []
    for row in draw.sample(once, count // 8):
        if row["stored_at"] is None:
            continue
        later = draw.choice(
            [timedelta(), timedelta(), timedelta(seconds=40), timedelta(minutes=17), timedelta(hours=1)]
        )
        moved = draw.choice([timedelta(), timedelta(), timedelta(minutes=-3), timedelta(minutes=11)])
        happened = None if row["happened_at"] is None else row["happened_at"] + (moved if later else timedelta())
        again.append({**row, "stored_at": row["stored_at"] + later, "happened_at": happened})
    for row in draw.sample(once, 12):
        row["id"] = None
    every = [*once, *again]
    draw.shuffle(every)
    return every
