"""The way of a new user: from a table to a checked result by three commands, equal to an independent streaming job.

The six tables have times as text, in structs, as epochs and as local clocks, with rows that have none. A person takes
the draft as it is. The published tables are compared with `brute_force`, which imports nothing of the product.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.newcomer.brute_force import Answer, Job, Row, run
from tests.support import source_tables
from tests.support.engine import rows_of

pytestmark = [pytest.mark.spark, pytest.mark.soak]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"ms": 1, "s": 1_000, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "h": 3_600_000, "day": 86_400_000}
_UNITS |= {"m": 60_000, "d": 86_400_000}
_GUARD_US = 86_400_000_000
Raw = dict[str, Any]


def micros(moment: datetime) -> int:
    """Return the microseconds since 1970; a time without a zone is UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def iso(text: str | None) -> int | None:
    """Return the microseconds of a text with an offset; None for any other text."""
    fits = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)", text or "")
    return micros(datetime.fromisoformat(str(text))) if fits else None


def days_first(text: str | None) -> int | None:
    """Return the microseconds of `31/01/2024 10:00` in UTC; None for any other text."""
    try:
        return micros(datetime.strptime(text or "", "%d/%m/%Y %H:%M").replace(tzinfo=UTC))
    except ValueError:
        return None


#: By table: event time and arrival time of a raw row, in microseconds.
TIMES: dict[str, tuple[Callable[[Raw], int | None], Callable[[Raw], int] | None]] = {
    "sensors": (lambda raw: iso(raw["event time"]), lambda raw: micros(raw["arrived_at"])),
    "clicks": (lambda raw: raw["payload"]["ts"] * 1_000_000, lambda raw: raw["meta"]["received_ms"] * 1_000),
    "orders": (
        lambda raw: None if raw["ordered_at"] is None else micros(raw["ordered_at"]),
        lambda raw: micros(raw["loaded_at"]),
    ),
    "meters": (lambda raw: days_first(raw["measured"]), lambda raw: int(raw["received_at"]) * 1_000),
    "heartbeats": (lambda raw: round(raw["ts"] * 1_000_000), None),
    "shipments": (lambda raw: micros(raw["scanInfo"]["eventTime"]), lambda raw: micros(raw["audit"]["ingestedAt"])),
}


def duration(text: str) -> int:
    """Return the milliseconds of `2 hours 10 minutes`."""
    parts = re.findall(r"(\d+)\s*([a-z]+)", text)
    return sum(int(number) * _UNITS.get(unit, _UNITS.get(unit.removesuffix("s"), 0)) for number, unit in parts)


def value(raw: Raw, path: str) -> Any:
    """Return the value of a column, or of a field, of a raw row."""
    for quoted, plain in re.findall(r"`([^`]+)`|([^.`]+)", path):
        raw = raw[quoted or plain]
    return raw


def command(folder: Path, *arguments: str) -> float:
    """Run a command of the program; return its seconds. Raises AssertionError with its output if it fails."""
    began = monotonic()
    root = Path(__file__).parents[2]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("TIDEMARK_")}
    environment["PYTHONPATH"] = f"{root}:{root / 'plugins'}"
    ended = subprocess.run(
        [sys.executable, "-m", "spark_jobs.cli", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return monotonic() - began


def expected(name: str, raws: list[Raw], drafted: Raw) -> tuple[Answer, int]:
    """Return the answer of the streaming job, and the number of rows without usable times."""
    event_of, arrival_of = TIMES[name]
    columns = drafted["source"].get("columns", {})
    key = [columns.get(column, column) for column in drafted["windows"]["key"]]
    partition = [columns.get(column, column) for column in drafted["source"].get("source_partition", [])]
    rows = []
    for raw in raws:
        event_us = event_of(raw)
        arrival_us = event_us if arrival_of is None else arrival_of(raw)
        if event_us is None or arrival_us is None or event_us > arrival_us + _GUARD_US:
            continue
        names = tuple(value(raw, path) for path in partition)
        rows.append(Row(event_us, arrival_us, names, tuple(value(raw, path) for path in key)))
    job = Job(
        bound=duration(drafted["watermark"]["out_of_orderness"]),
        every=duration(drafted["watermark"]["emit"]["every"]),
        size=duration(drafted["windows"]["size"]),
        lateness=duration(drafted["windows"].get("allowed_lateness", "0s")),
    )
    return run(rows, job), len(raws) - len(rows)


@pytest.mark.parametrize("name", source_tables.TABLES)
def test_the_first_result_is_the_streaming_answer(
    session: SparkSession, tmp_path: Path, record_property: Callable[[str, object], None], name: str
) -> None:
    table = source_tables.TABLES[name](session, tmp_path / "data" / name)
    seconds = {
        "init": command(tmp_path, "init", f"data/{name}"),
        "check": command(tmp_path, "check", f"{name}.yaml"),
        "replay": command(tmp_path, "replay", f"{name}.yaml"),
    }
    for step, took in seconds.items():
        record_property(step, round(took, 1))
    assert sum(seconds.values()) < 600
    drafted = yaml.safe_load((tmp_path / f"{name}.yaml").read_text(encoding="utf-8"))
    answer, invalid = expected(name, rows_of(session.read.format("delta").load(table)), drafted)
    key = drafted["windows"]["key"]

    def published(of: str) -> list[Raw]:
        return rows_of(session.read.format("delta").load(str(tmp_path / "lake" / drafted["name"] / of)))

    def start(row: Raw) -> int:
        return micros(row["window_start"]) // 1000

    panes = [
        (tuple(row[k] for k in key), start(row), row["pane_index"], row["timing"], row["row_count"], row["watermark"])
        for row in published("panes")
    ]
    assert Counter((*pane[:5], micros(pane[5]) // 1000) for pane in panes) == Counter(answer.panes)
    results = {(tuple(row[k] for k in key), start(row)): row["row_count"] for row in published("window_results")}
    assert results == answer.results
    late = Counter(
        (micros(row["event_time"]), micros(row["arrival_time"]), micros(row["watermark"]) // 1000)
        for row in published("late_events")
    )
    assert late == Counter(answer.too_late)
    assert len(published("invalid_events")) == invalid
    assert len(panes) >= 10
