"""The handover to a live job as a file in the lake: what it contains, and how it is written and read without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables.effective_runs import effective_runs
from spark_jobs.tables.lake import HANDOVER, Lake
from spark_jobs.tables.run import Run

_MOMENTS = ("covered_until", "watermark", "live_from_window", "state_from_event_time", "read_from_arrival")


@dataclass(frozen=True)
class Versions:
    """A source's version that was read, the next version, and the first version with a row to be read again.

    `starting` is None if the log no longer has it; then the table is to be read from its beginning.
    """

    read: int
    next: int
    starting: int | None


@dataclass(frozen=True)
class Handover:
    """The point at which a live job takes over from the run published last. Moments are aware, UTC.

    Always:

    - `covered_until`: A, exclusive; None: all rows of the source's version
    - `versions`: by source name ("" for a single source) the version from which on to read
    - `broker_offsets`: the next offset of each partition, if the pipeline declares offsets

    Only if `exact`:

    - `live_from_window`: start of the oldest open window; None: no window is closed, all belong to the live job
    - `open_windows`: the number of windows that have not fired
    - `fired_windows`: the number of windows that have fired and still accept late rows
    - `state_from_event_time`: the least event time of a row that matters
    - `read_from_arrival`: all rows from it on are to be read again; None: from the first row
    - `partitions_to_wait_for`: partitions that hold the watermark at MIN until they have a row
    - `watermark`, `partition_watermarks`: the watermarks at A; null: MIN
    """

    pipeline: str
    run_id: str
    exact: bool
    reason: str | None
    covered_until: datetime | None
    versions: Mapping[str, Versions]
    watermark: datetime | None = None
    partition_watermarks: Mapping[str, datetime | None] = field(default_factory=dict)
    live_from_window: datetime | None = None
    open_windows: int | None = None
    fired_windows: int | None = None
    state_from_event_time: datetime | None = None
    read_from_arrival: datetime | None = None
    partitions_to_wait_for: Sequence[str] = ()
    broker_offsets: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return one object; moments are ISO 8601."""
        plain = asdict(self)
        iso = {name: value.isoformat() for name, value in plain.items() if isinstance(value, datetime)}
        reached = {p: None if w is None else w.isoformat() for p, w in self.partition_watermarks.items()}
        return {**plain, **iso, "partition_watermarks": reached}

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> Handover:
        """Return the handover of such an object. Raises ValueError, TypeError or KeyError for any other object."""
        if entries.keys() != {entry.name for entry in fields(cls)}:
            raise ValueError(f"found the entries {', '.join(entries)}")
        moments = {name: _moment(entries[name]) for name in _MOMENTS}
        reached = {name: _moment(text) for name, text in entries["partition_watermarks"].items()}
        versions = {name: Versions(**numbers) for name, numbers in entries["versions"].items()}
        return cls(**{**entries, **moments, "partition_watermarks": reached, "versions": versions})


def write(lake: Lake, handover: Handover) -> str:
    """Write the handover to the lake as `handover.json`, whole or not at all; returns its path or URI."""
    lake.objects.write(HANDOVER, f"{json.dumps(handover.as_json(), indent=1)}\n".encode())
    return lake.handover_path


def read(lake: Lake, pipeline: Pipeline, published: Iterable[Run]) -> Handover | None:
    """Return the handover in the lake, if it is that of the results in force; `published` runs are in their order.

    Returns None if there is no file, if another release has written the file, and for results of other settings.
    """
    latest = effective_runs(published).latest
    if latest is None or latest.fingerprint != pipeline.fingerprint:
        return None
    content = lake.objects.read(HANDOVER)
    if content is None:
        return None
    try:
        handover = Handover.from_json(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return handover if handover.run_id == latest.run_id else None


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
