"""Write a day of clicks as CSV: `python docs/examples/clicks.py [FILE] [DAY]`.

Clicks from the web arrive within seconds. Clicks from phones arrive when the phone has a network again: most within ten
minutes, a few after hours. Three clicks have no time. The same day gives the same rows.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

COLUMNS = ("click_id", "clicked_at", "stored_at", "app", "country", "amount")


def clicks(day: date) -> list[dict[str, object]]:
    """Return 1,440 clicks that arrive on `day`, in the order of their arrival."""
    return list(_clicks(day, random.Random(day.toordinal())))  # noqa: S311  the same rows again


def _clicks(day: date, draw: random.Random) -> Iterator[dict[str, object]]:
    midnight = datetime.combine(day, time(), UTC)
    for minute in range(1440):
        stored_at = midnight + timedelta(minutes=minute, seconds=draw.randrange(60))
        app = draw.choice(["web", "web", "phone"])
        yield {
            "click_id": minute + 1 + 1440 * (day.day - 1),
            "clicked_at": None if minute in {100, 700, 1300} else stored_at - _delay(app, draw),
            "stored_at": stored_at,
            "app": app,
            "country": draw.choice(["DE", "FR", "PL"]),
            "amount": draw.randrange(1, 400) / 4,
        }


def _delay(app: str, draw: random.Random) -> timedelta:
    if app == "web":
        return timedelta(seconds=draw.randrange(1, 20))
    if draw.random() < 0.95:
        return timedelta(seconds=draw.randrange(5, 600))
    return timedelta(minutes=draw.choice([30, 50, 90, 240]))


def write(rows: list[dict[str, object]], file: Path) -> None:
    """Write the rows as CSV; a row without a time has an empty field."""
    with file.open("w", newline="", encoding="utf-8") as text:
        writer = csv.DictWriter(text, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "clicks.csv"
    day = sys.argv[2] if len(sys.argv) > 2 else "2024-05-01"
    write(clicks(date.fromisoformat(day)), Path(target))
