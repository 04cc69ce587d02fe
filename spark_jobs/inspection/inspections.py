"""Inspections as values: the explanation of a row or a window with what a page shows around it.

basis        what it is made of
PUBLISHED    the published tables: late rows, panes, and the calendar of windows
SOURCE       the rows of the source, replayed by the streaming job of the reference
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from spark_jobs.explain.explanations import ExplainedRow, PartitionWatermark, WindowLife


class Basis(StrEnum):
    """What an explanation is made of; see the module."""

    PUBLISHED = "published"
    SOURCE = "source"


@dataclass(frozen=True)
class RowChoice:
    """The rows with these times, and these texts of the key and the source partition by column of the source.

    `event_us` and `arrival_us` are microseconds since 1970. An `arrival_us` of None stands for a row without an arrival
    time. `window_start` is the start of the newest window that the rows missed, if it is known: fewer files are read.
    """

    event_us: int
    arrival_us: int | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    window_start: datetime | None = None


@dataclass(frozen=True)
class WindowDates:
    """When a window fired and closed, by the arrival clock, and the watermarks of the firing.

    `watermark` is the watermark from the firing on. `partitions` are those of the source partitions; None: not listed.
    `is_repaired`: a repair has added the rows that came after the closing.
    """

    fired_at: datetime | None
    watermark: datetime | None
    closed_at: datetime | None
    partitions: Sequence[PartitionWatermark] | None
    is_repaired: bool = False


@dataclass(frozen=True)
class RowInspection:
    """An explained row.

    - `key`: the texts of its key, by column of the source; empty if they are unknown
    - `dates`: those of the newest of its windows; None if they are unknown
    - `at_most`: the least bound and the least lateness are upper bounds: a session may need less
    - `bound_setting`: the setting of `ExplainedRow.least_bound_ms`; `bound_ms` is its value in the run, `bound_now` in
      words
    - `lateness_ms`: the allowed lateness of the run; None if it is unknown
    """

    basis: Basis
    row: ExplainedRow
    key: Mapping[str, str] = field(default_factory=dict)
    dates: WindowDates | None = None
    at_most: bool = False
    bound_setting: str = ""
    bound_ms: int | None = None
    bound_now: str = ""
    lateness_ms: int | None = None


@dataclass(frozen=True)
class WindowInspection:
    """The life of a window, or of the sessions of a key around an instant.

    `life` lists every row with the basis SOURCE, and the too late rows alone with PUBLISHED. `too_late` is the number
    of these. `result` is the row of `window_results`, None without one. `is_cut`: there are more steps than are listed.
    """

    basis: Basis
    life: WindowLife
    window_end: datetime | None = None
    dates: WindowDates | None = None
    result: Mapping[str, Any] | None = None
    too_late: int = 0
    is_cut: bool = False
