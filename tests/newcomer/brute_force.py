"""A streaming job in plain Python that knows nothing of the product: one tumbling window operator, row by row.

It is for tests that compare a published table with an independent answer. It imports the standard library alone. Times
are milliseconds since 1970. The watermark is bounded out-of-orderness by source partition. It moves at every tick of
the arrival clock. Panes accumulate, late rows fire at once, and too late rows are set apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

END = 253_402_300_799_999


@dataclass(frozen=True)
class Row:
    """A row with usable times: microseconds of its event and its arrival, its partition and its key."""

    event_us: int
    arrival_us: int
    partition: Hashable
    key: tuple[Hashable, ...]
    order: tuple[object, ...] = ()

    @property
    def ts(self) -> int:
        """Return the event time in milliseconds."""
        return self.event_us // 1000


@dataclass(frozen=True)
class Job:
    """The settings of the job, in milliseconds; `offset` shifts the windows."""

    bound: int
    every: int
    size: int
    lateness: int
    offset: int = 0


@dataclass
class Answer:
    """Panes as (key, start, number, timing, rows, watermark), and too late rows as (event, arrival, watermark)."""

    panes: list[tuple[tuple[Hashable, ...], int, int, str, int, int]] = field(default_factory=list)
    too_late: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def results(self) -> dict[tuple[tuple[Hashable, ...], int], int]:
        """Return the rows of the newest pane by key and window start."""
        return {(key, start): rows for key, start, _, _, rows, _ in self.panes}


class _Operator:
    def __init__(self, job: Job) -> None:
        self.job, self.answer, self.watermark = job, Answer(), -(2**63)
        self.rows: dict[tuple[tuple[Hashable, ...], int], int] = defaultdict(int)
        self.fired: dict[tuple[tuple[Hashable, ...], int], int] = {}

    def take(self, row: Row) -> None:
        start = row.ts - (row.ts - self.job.offset) % self.job.size
        last = start + self.job.size - 1
        window = (row.key, start)
        if last + self.job.lateness <= self.watermark:
            self.answer.too_late.append((row.event_us, row.arrival_us, self.watermark))
            return
        self.rows[window] += 1
        if last <= self.watermark:
            self.fire(window, "late")

    def advance(self, watermark: int) -> None:
        if watermark <= self.watermark:
            return
        self.watermark = watermark
        due = [w for w in self.rows if w not in self.fired and w[1] + self.job.size - 1 <= watermark]
        for window in sorted(due, key=lambda w: w[1]):
            self.fire(window, "on_time")

    def fire(self, window: tuple[tuple[Hashable, ...], int], timing: str) -> None:
        number = self.fired.get(window, -1) + 1
        self.fired[window] = number
        key, start = window
        self.answer.panes.append((key, start, number, timing, self.rows[window], min(self.watermark, END)))


def run(rows: Sequence[Row], job: Job) -> Answer:
    """Run the job over all rows, whose input ends after the last one."""
    operator, next_tick = _Operator(job), None
    highest: dict[Hashable, int] = {}
    for row in sorted(rows, key=lambda r: (r.arrival_us, str(r.partition), r.order)):
        clock = row.arrival_us // 1000
        if next_tick is None:
            next_tick = (clock // job.every + 1) * job.every
        if next_tick <= clock:
            # Between two rows nothing changes, so all ticks but the first emit the same watermark.
            operator.advance(min(highest.values()) - job.bound - 1)
            next_tick = (clock // job.every + 1) * job.every
        operator.take(row)
        highest[row.partition] = max(row.ts, highest.get(row.partition, row.ts))
    operator.advance(2**63 - 1)
    return operator.answer
