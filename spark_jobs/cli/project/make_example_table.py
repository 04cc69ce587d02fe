"""Write the table of the example, seven clicks, into the lake: `python make_example_table.py`."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

# Number, time of the click and time of its arrival, on one day. Click 5 is late, and click 7 is too late.
CLICKS = (
    (1, "10:01", "10:02"),
    (2, "10:12", "10:13"),
    (3, "10:09", "10:14"),
    (4, "10:16", "10:17"),
    (5, "10:07", "10:19"),
    (6, "10:27", "10:28"),
    (7, "10:08", "10:31"),
)


def clicks() -> pa.Table:
    """Return the table."""
    times = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            "click_id": pa.array([number for number, _, _ in CLICKS], pa.int64()),
            "clicked_at": pa.array([_instant(time) for _, time, _ in CLICKS], times),
            "stored_at": pa.array([_instant(time) for _, _, time in CLICKS], times),
            "page": ["home"] * len(CLICKS),
        }
    )


def _instant(time: str) -> datetime:
    return datetime.fromisoformat(f"2024-05-01T{time}").replace(tzinfo=UTC)


if __name__ == "__main__":
    lake = Path(os.environ.get("TIDEMARK_LAKE") or Path(__file__).parent / "lake")
    write_deltalake(str(lake / "example_clicks"), clicks(), mode="overwrite")
    print(f"{lake / 'example_clicks'}: {len(CLICKS)} clicks")
