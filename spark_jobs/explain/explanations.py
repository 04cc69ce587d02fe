"""Explanations as values: where a row stands in the order of arrival, what judged it, what would have changed that.

    fate            rule    meaning
    on_time         54      a window took the row before the watermark reached the window's last millisecond
    late            64      a window took the row after that, within the allowed lateness; 70 under a trigger by count
    too_late        51      the watermark had closed every window of the row
    unassigned      53      no window contains the row's event time, and the watermark has not passed it

    on_time         90      (join by interval) the watermark had not passed the row's event time
    too_late        91      (join by interval) the watermark had passed the row's event time

    on_time         104     (join as of) the watermark had not reached the row's event time
    too_late        104     (join as of) the watermark had reached the row's event time; the row counts all the same

    invalid                 the row has no usable time, or breaks a rule of the source
    left_out                `where` or `deduplicate` leaves the row out

Times are aware, UTC. Durations are milliseconds. Rules are numbered as on the page of semantics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from spark_jobs.semantics.spec import TriggerKind, Windows
from spark_jobs.semantics.windows.lateness import Lateness

UNASSIGNED, INVALID, LEFT_OUT = "unassigned", "invalid", "left_out"
#: The rule behind each verdict.
RULES = {Lateness.ON_TIME.value: 54, Lateness.LATE.value: 64, Lateness.TOO_LATE.value: 51, UNASSIGNED: 53}
#: The rule behind a late row under a trigger by count.
LATE_BY_COUNT = 70


def rule_of(verdict: Lateness, windows: Windows) -> int:
    """Return the rule behind a verdict; under a trigger by count, a late row fires no pane by itself."""
    fires_by_count = verdict is Lateness.LATE and windows.trigger.kind is TriggerKind.COUNT
    return LATE_BY_COUNT if fires_by_count else RULES[verdict.value]


class Meeting(StrEnum):
    """What became of two rows within reach of each other in a join by interval, or of a row and a version of its time.

    In a join as of, TOO_LATE means that the version came after the emission of the row. EXPIRED means that a newer
    version had replaced it. WAITING occurs as of alone: the row is not emitted yet, and this is its version so far.
    """

    JOINED = "joined"
    #: One of the two was too late.
    TOO_LATE = "too_late"
    #: The earlier of the two had been dropped when the later one arrived.
    EXPIRED = "expired"
    #: The left row waits for the watermark.
    WAITING = "waiting"


#: The rule behind each meeting.
JOIN_RULES = {Meeting.JOINED: 90, Meeting.TOO_LATE: 91, Meeting.EXPIRED: 93}
#: The same in a join as of.
AS_OF_RULES = {Meeting.JOINED: 100, Meeting.TOO_LATE: 101, Meeting.EXPIRED: 103, Meeting.WAITING: 101}


@dataclass(frozen=True)
class PartitionWatermark:
    """The watermark of a source partition; None: no row has moved it.

    `holds_back`: others are further, and the combined watermark waits for this one (`holding`). `is_idle`: it is idle,
    and holds nothing back. None: that is unknown.
    """

    source_partition: str
    watermark: datetime | None
    holds_back: bool
    is_idle: bool | None = False


@dataclass(frozen=True)
class ExplainedPane:
    """A pane with the row: its number, and when and by which watermark it fired."""

    pane_index: int
    timing: str
    fired_at: datetime | None
    watermark: datetime | None
    row_count: int


@dataclass(frozen=True)
class ExplainedWindow:
    """The verdict of a row for one of its windows; a session is the merged one.

    `fires_at_watermark` and `closes_at_watermark` are the watermarks that fire the window and end its state. `panes`
    are those with the row; None: the window has too many rows. `is_repaired`: a repair has computed the window again,
    with all late rows, so nothing ends its state.
    """

    window_start: datetime
    window_end: datetime
    verdict: str
    rule: int
    fires_at_watermark: datetime | None
    closes_at_watermark: datetime | None
    panes: Sequence[ExplainedPane] | None
    is_repaired: bool = False


@dataclass(frozen=True)
class ExplainedPartner:
    """A row of the other input within reach of a row: the same key, and an event time within the interval.

    In a join as of it is a version that is not after the row, or a row that lists the version. `paired_at` is the clock
    of the later of the two rows, or of the emission as of, if they joined. `watermark` is that before the partner.
    """

    row: Mapping[str, Any]
    event_time: datetime
    watermark: datetime | None
    meeting: Meeting
    rule: int
    paired_at: datetime | None


@dataclass(frozen=True)
class ExplainedRow:
    """The explanation of a row.

    - `input`: the name of the join's input; None without a join
    - `rows_before`: how many rows arrived earlier
    - `reason`: why an invalid row is invalid
    - `windows`: empty in a join without windows, which has `partners` instead; None if they are too many to list
    - `least_bound_ms`, `least_lateness_ms`: the least bound (or lag) and the least allowed lateness at which a too late
      row would have counted, if only that changed. None for other rows, and if no value is great enough
    - `least_bound_increase_ms`: the same for several sources: how much greater all their bounds must be
    """

    input: str | None
    row: Mapping[str, Any]
    fate: str
    reason: str | None
    event_time: datetime | None
    arrival_time: datetime | None
    source_partition: str
    rows_before: int | None
    watermark: datetime | None
    partitions: Sequence[PartitionWatermark] | None
    windows: Sequence[ExplainedWindow]
    partners: Sequence[ExplainedPartner] | None
    least_bound_ms: int | None
    least_bound_increase_ms: int | None
    least_lateness_ms: int | None


class Step(StrEnum):
    """What happens in the life of a window."""

    ROW = "row"
    PANE = "pane"
    CLOSED = "closed"


@dataclass(frozen=True)
class LifeStep:
    """A step in the life of a window: a row that came, a pane that fired, or the end of its state.

    `at` is the clock of arrival; None where a pane fires at the end of an epoch. `watermark` is the watermark before a
    row, and at a firing or the end. `row`, `input` and `verdict` belong to a row, `pane` to a pane. `input` is the name
    of the join's input; None without a join.
    """

    step: Step
    at: datetime | None
    watermark: datetime | None
    window_start: datetime
    window_end: datetime
    row: Mapping[str, Any] | None = None
    input: str | None = None
    event_time: datetime | None = None
    verdict: str | None = None
    pane: ExplainedPane | None = None


@dataclass(frozen=True)
class WindowLife:
    """The life of one key's window, or of the sessions around an instant: `steps` in order.

    `row_count` rows have the window; with more than can be processed one by one, there are no steps (None).
    """

    key: Mapping[str, Any]
    row_count: int
    steps: Sequence[LifeStep] | None
