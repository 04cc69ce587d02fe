"""The life of the windows of one key: its rows in the order of arrival, each at the watermark before it.

The operators of `semantics` process the rows. So a verdict here is that of the streaming job for every kind of windows,
trigger and order. The watermarks come from the whole history; only the rows of the key are processed.

A pane that the watermark fires does so at the first advance that reaches `fires_ms` (`session_scan` has the same law).

A counterfactual costs what matters to the row: the row alone, or of sessions the rows of the component before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from spark_jobs.explain.sharing import SharingSessions, SharingWindows, sharing_operator
from spark_jobs.semantics.panes.window_operator import Pane, Verdict
from spark_jobs.semantics.rows.instants import MAX, MIN
from spark_jobs.semantics.spec import Windows
from spark_jobs.semantics.windows.lateness import Lateness, fate

_Key = tuple[()]
_KEY: _Key = ()


@dataclass(frozen=True)
class ArrivedRow:
    """A row of the key: its number in the order of arrival, its event time, and the watermark before it (ms; or MIN).

    `epoch` is equal for rows between the same two emissions, and never falls.
    """

    number: int
    ts: int
    watermark: int
    epoch: int


@dataclass(frozen=True)
class LifePane:
    """A pane, and the number of the row that fired it; None if an advance of the watermark did.

    That is the first advance with a watermark of at least `fires_ms`; None for the end of an epoch.
    """

    pane: Pane[_Key, ArrivedRow]
    row: int | None
    fires_ms: int | None

    def contains(self, number: int) -> bool:
        """Return whether the pane contains a row; the rows of a pane are in the order of arrival."""
        rows = self.pane.rows
        place = bisect_left(rows, number, key=lambda row: row.number)
        return place < len(rows) and rows[place].number == number


@dataclass(frozen=True)
class Life:
    """The verdicts of each row by its number, and the rows and panes in the order in which they came and fired."""

    verdicts: Mapping[int, tuple[Verdict[_Key, ArrivedRow], ...]]
    steps: Sequence[ArrivedRow | LifePane]

    @property
    def panes(self) -> list[LifePane]:
        """The panes in the order of firing."""
        return [step for step in self.steps if isinstance(step, LifePane)]


def life(rows: Sequence[ArrivedRow], windows: Windows, end: int = MIN, *, earlier_ms: int = 0) -> Life:
    """Process rows, which are in the order of arrival; `end` is the watermark behind the last row.

    With `earlier_ms`, every watermark but MIN and the end of the input is so much earlier.
    """
    work: SharingWindows[_Key, ArrivedRow] | SharingSessions[_Key, ArrivedRow] = sharing_operator(windows)
    verdicts: dict[int, tuple[Verdict[_Key, ArrivedRow], ...]] = {}
    steps: list[ArrivedRow | LifePane] = []

    def advance(watermark: int) -> None:
        before = work.watermark
        risen = watermark if watermark in (MIN, MAX) else watermark - earlier_ms
        if risen > before:
            steps.extend(_by_advance(pane, before) for pane in work.on_watermark(risen))

    epoch = None
    for row in rows:
        if row.epoch != epoch:
            steps += [LifePane(pane, None, None) for pane in work.on_epoch_end()]
        epoch = row.epoch
        advance(row.watermark)
        verdicts[row.number] = work.on_row(_KEY, row.ts, row)
        steps.append(row)
        steps += [LifePane(verdict.pane, row.number, None) for verdict in verdicts[row.number] if verdict.pane]
    steps += [LifePane(pane, None, None) for pane in work.on_epoch_end()]
    advance(end)
    return Life(verdicts, steps)


def _by_advance(pane: Pane[_Key, ArrivedRow], before: int) -> LifePane:
    """Return a pane of an advance; a timer that was set in the past runs at the next advance above `before`."""
    instant = pane.window.last if pane.instant is None else pane.instant
    return LifePane(pane, None, max(instant, before + 1))


def fate_of(row: ArrivedRow, lived: Life, windows: Windows) -> Lateness | None:
    """Return the best verdict of a row; None for a row that no window took and that is not reported (rule 53)."""
    return fate(
        [verdict.lateness for verdict in lived.verdicts[row.number]], row.ts, windows.lateness_ms, row.watermark
    )


def least_bound_ms(row: ArrivedRow, rows: Sequence[ArrivedRow], windows: Windows) -> int | None:
    """Return how much greater the bound must be, at least, for a too late row to count; None if no bound does that.

    A greater bound makes every watermark earlier by the difference, also under idleness: idleness depends on the clock.
    """
    before = _deciding(row, rows, windows)
    return _least(lambda ms: _counts(row, life(before, windows, earlier_ms=ms)), _most(row, windows))


def least_lateness_ms(row: ArrivedRow, rows: Sequence[ArrivedRow], windows: Windows) -> int | None:
    """Return how much greater the allowed lateness must be, at least, for a too late row to count; None likewise."""
    before = _deciding(row, rows, windows)

    def counts(ms: int) -> bool:
        wider = replace(windows, allowed_lateness_ms=windows.allowed_lateness_ms + ms)
        return _counts(row, life(before, wider))

    return _least(counts, _most(row, windows))


def _deciding(row: ArrivedRow, rows: Sequence[ArrivedRow], windows: Windows) -> Sequence[ArrivedRow]:
    """Return the rows up to `row` that decide about its verdict: without sessions, itself."""
    return [each for each in rows if each.number <= row.number] if windows.is_session else [row]


def _counts(row: ArrivedRow, lived: Life) -> bool:
    return any(verdict.lateness is not Lateness.TOO_LATE for verdict in lived.verdicts[row.number])


def _most(row: ArrivedRow, windows: Windows) -> int:
    """Return a difference that is enough for every window that the row brings."""
    return max(row.watermark - row.ts + 1, 1) + windows.span_ms


def _least(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the least number from 1 to `most` at which `holds`, which holds at all greater ones too; None without."""
    numbers = range(1, most + 1)
    at = bisect_left(numbers, True, key=holds)
    return numbers[at] if at < len(numbers) else None
