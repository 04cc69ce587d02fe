"""Windows declare which windows the rows of a key fill, what each pane contains, and when a window closes.

With `last = start + size - 1` the window's last instant, its state goes at the watermark `last + lateness` (rule 50).
Starts lie on the grid `offset + k * period`; the period is the slide of sliding windows, the size of tumbling ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from spark_jobs.semantics.spec.times import DAY_MS, FOREVER_MS
from spark_jobs.semantics.spec.triggers import Trigger


class WindowKind(StrEnum):
    """How windows are made from event time (rules 40, 41, 44). NONE belongs to a join by interval or as of."""

    TUMBLING = "tumbling"
    SLIDING = "sliding"
    SESSION = "session"
    NONE = "none"

    @classmethod
    def _missing_(cls, value: object) -> WindowKind:
        raise ValueError(f"found window kind '{value}', known: {', '.join(sorted(WINDOW_KINDS))}")

    @property
    def has_grid(self) -> bool:
        """True if windows start at a fixed distance from each other, the same windows for all keys."""
        match self:
            case WindowKind.TUMBLING | WindowKind.SLIDING:
                return True
            case WindowKind.SESSION | WindowKind.NONE:
                return False
            case _:
                assert_never(self)


#: The kinds that fill windows.
WINDOW_KINDS = tuple(kind for kind in WindowKind if kind is not WindowKind.NONE)


class Accumulation(StrEnum):
    """Which rows a pane contains: all rows so far, or only the rows since the pane before (rules 64 and 68).

    RETRACTING: all rows so far. Before such a pane stands the pane that it replaces, marked as withdrawn.
    """

    ACCUMULATING = "accumulating"
    DISCARDING = "discarding"
    RETRACTING = "retracting"


class LateData(StrEnum):
    """What happens to rows behind the allowed lateness: kept in a side output, only counted, or taken nevertheless."""

    SIDE_OUTPUT = "side_output"
    DROP = "drop"
    UPDATE = "update"


class LatePanes(StrEnum):
    """Whether each late row fires a pane, or all late rows of one epoch and (key, window) fire one together."""

    PER_ROW = "per_row"
    PER_EPOCH = "per_epoch"


class Floats(StrEnum):
    """How doubles are added: to the real sum, rounded once, or one after the other as they arrived, as Flink does."""

    EXACT = "exact"
    ARRIVAL_ORDER = "arrival_order"


@dataclass(frozen=True)
class Aggregate:
    """One result column: a Spark SQL aggregate expression under its name."""

    name: str
    expression: str


@dataclass(frozen=True)
class Windows:
    """The windows of each key. Raises ValueError for an unknown kind.

    Tumbling windows are `[offset + k*size, offset + (k+1)*size)`, sliding ones `[offset + k*slide, offset + k*slide +
    size)`. A session has no size: it ends `gap` after its last row. `slide_ms` belongs to SLIDING, `gap_ms` to SESSION.

    `timezone` is the zone on whose clock tumbling and sliding windows start and end; with another zone than UTC, size
    and slide are whole days of that clock.
    """

    size_ms: int = 0
    offset_ms: int = 0
    key: tuple[str, ...] = ()
    allowed_lateness_ms: int = 0
    accumulation: Accumulation = Accumulation.ACCUMULATING
    late_data: LateData = LateData.SIDE_OUTPUT
    aggregates: tuple[Aggregate, ...] = ()
    kind: WindowKind = WindowKind.TUMBLING
    slide_ms: int = 0
    gap_ms: int = 0
    late_panes: LatePanes = LatePanes.PER_ROW
    trigger: Trigger = field(default_factory=Trigger)
    timezone: str = "UTC"
    floats: Floats = Floats.EXACT

    def __post_init__(self) -> None:
        # A kind may be written as text, such as "session": from here on it is a member.
        object.__setattr__(self, "kind", WindowKind(self.kind))

    @property
    def is_session(self) -> bool:
        """True if windows differ per key and merge, so that all keys share no window."""
        return self.kind is WindowKind.SESSION

    @property
    def is_sliding(self) -> bool:
        """True if an instant may lie in several windows, or in none."""
        return self.kind is WindowKind.SLIDING

    @property
    def is_tumbling(self) -> bool:
        """True if each instant lies in exactly one window of a grid."""
        return self.kind is WindowKind.TUMBLING

    @property
    def are_missing(self) -> bool:
        """True for a join by interval or as of, which fills no windows."""
        return self.kind is WindowKind.NONE

    @property
    def are_local(self) -> bool:
        """True if windows start and end at wall-clock times of a zone, so that their days differ in length."""
        return self.kind.has_grid and self.timezone != "UTC"

    @property
    def longest_ms(self) -> int:
        """How long a window lasts at most, sessions aside; a clock may be set back within a local one."""
        return self.size_ms + (DAY_MS if self.are_local else 0)

    @property
    def period_ms(self) -> int:
        """How far apart windows of a grid start, by the clock of their zone; 0 for sessions and without windows."""
        match self.kind:
            case WindowKind.SLIDING:
                return self.slide_ms
            case WindowKind.TUMBLING | WindowKind.SESSION | WindowKind.NONE:
                return self.size_ms
            case _:
                assert_never(self.kind)

    @property
    def span_ms(self) -> int:
        """How long the window is that a row brings: `[start, start + span)`; a session may grow beyond it."""
        return self.gap_ms if self.is_session else self.size_ms

    @property
    def have_gaps(self) -> bool:
        """True if there are instants without a window."""
        return self.period_ms > self.size_ms

    @property
    def lateness_ms(self) -> int:
        """How long after its last instant a window takes rows: the allowed lateness, or for ever if all update it."""
        return FOREVER_MS if self.updates else self.allowed_lateness_ms

    @property
    def updates(self) -> bool:
        """True if every row updates its window, however late; no row is too late."""
        return self.late_data is LateData.UPDATE

    @property
    def drops_late(self) -> bool:
        """True if rows that no window took are counted, and not kept."""
        return self.late_data is LateData.DROP

    @property
    def discards(self) -> bool:
        """True if a pane contains only the rows since the pane before (rule 64)."""
        return self.accumulation is Accumulation.DISCARDING

    @property
    def retracts(self) -> bool:
        """True if a pane that replaces others is preceded by them, marked as withdrawn (rule 68)."""
        return self.accumulation is Accumulation.RETRACTING

    @property
    def adds_as_arrived(self) -> bool:
        """True if doubles are added in the order in which rows arrived, so that each step is rounded."""
        return self.floats is Floats.ARRIVAL_ORDER

    @property
    def per_epoch(self) -> bool:
        """True if the late rows of one epoch and (key, window) fire one pane together."""
        return self.late_panes is LatePanes.PER_EPOCH
