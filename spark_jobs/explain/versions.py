"""Versions: which version a row of an as-of join got, and which it did not get although it is of its time.

The operator of the reference processes all rows of the key in the order of arrival. Between them it takes the advances
that can fire the key. For a row this is the first to reach max(ts, W + 1), with W the watermark before it. Rules
100-105.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.explain.explanations import Meeting
from spark_jobs.explain.life import ArrivedRow
from spark_jobs.semantics.joins.as_of_join import AsOfJoin, Match
from spark_jobs.semantics.joins.interval_join import Side

_Key = tuple[()]
_KEY: _Key = ()


@dataclass(frozen=True)
class Fit:
    """A left row and a version that is not after it, by their numbers, and what became of the two.

    `watermark` is that of the advance that emitted the left row; None: it waits.
    """

    left: int
    version: int
    meeting: Meeting
    watermark: int | None


def reach(row: ArrivedRow) -> int:
    """Return the least watermark that passes a row after its arrival."""
    return max(row.ts, row.watermark + 1)


def fits(
    rows: Sequence[ArrivedRow], sides: Sequence[Side], advances: Mapping[int, int], chosen: Collection[int]
) -> Mapping[int, Sequence[Fit]]:
    """Return the fits of chosen rows, which are numbers, by number: those of a left row, or those with a version.

    A left row has the version that it joined or waits for, and every version that is newer and not after it. Without
    such a version it has the newest that is not after it, and no other. `rows` are those of a key in the order of
    arrival. `advances` has the watermark of the first advance that attains each reach of a row; a reach that none
    attains is absent.
    """
    join: AsOfJoin[_Key, ArrivedRow] = AsOfJoin()
    emitted = {match.left.number: (match, at) for match, at in _emitted(join, rows, sides, advances)}
    of_sides = {side: [row for row, of in zip(rows, sides, strict=True) if of is side] for side in Side}
    versions = sorted(of_sides[Side.RIGHT], key=_place, reverse=True)
    in_state, every = (_Newest(times, versions) for times in (join.versions(_KEY), sorted({v.ts for v in versions})))

    def outcome(left: ArrivedRow) -> _Outcome:
        if left.number in emitted:
            match, at = emitted[left.number]
            version, meeting, watermark = match.right, Meeting.JOINED, at
        else:
            version, meeting, watermark = in_state.not_after(left), Meeting.WAITING, None
        return _Outcome(version, version or every.not_after(left), meeting, watermark)

    listed: dict[int, Sequence[Fit]] = {}
    for row, side in zip(rows, sides, strict=True):
        if row.number not in chosen:
            continue
        if side is Side.LEFT:
            own = outcome(row)
            pairs = ((row, version, own) for version in versions)
        else:
            pairs = ((left, row, outcome(left)) for left in of_sides[Side.LEFT])
        listed[row.number] = [fit for left, version, of in pairs if (fit := _fit(left, version, of)) is not None]
    return listed


@dataclass(frozen=True)
class _Outcome:
    """The version that a left row joined or waits for, None without one, and the advance that emitted the row.

    `oldest` is the oldest version that is listed: this version, or else the newest that is not after the row.
    """

    version: ArrivedRow | None
    oldest: ArrivedRow | None
    meeting: Meeting
    at: int | None


class _Newest:
    """The versions of a key at some event times, which ascend; `versions` are all of the key, the newest first."""

    def __init__(self, times: Sequence[int], versions: Sequence[ArrivedRow]) -> None:
        self._times = times
        # Of equal event times the last to arrive counts.
        self._newest = {version.ts: version for version in reversed(versions)}

    def not_after(self, left: ArrivedRow) -> ArrivedRow | None:
        """Return the newest version that is not after a left row; None without one."""
        place = bisect_right(self._times, left.ts)
        return self._newest[self._times[place - 1]] if place else None


def _place(version: ArrivedRow) -> tuple[int, int]:
    return version.ts, version.number


def _fit(left: ArrivedRow, version: ArrivedRow, of: _Outcome) -> Fit | None:
    """Return what became of a left row and a version; None if the version is after the row, or too old for the list."""
    if version.ts > left.ts or of.oldest is None or _place(version) < _place(of.oldest):
        return None
    if of.version is not None and version.number == of.version.number:
        return Fit(left.number, version.number, of.meeting, of.at)
    came_after = of.at is not None and version.watermark >= of.at
    return Fit(left.number, version.number, Meeting.TOO_LATE if came_after else Meeting.EXPIRED, of.at)


def _emitted(
    join: AsOfJoin[_Key, ArrivedRow], rows: Sequence[ArrivedRow], sides: Sequence[Side], advances: Mapping[int, int]
) -> Iterator[tuple[Match[ArrivedRow], int]]:
    """Process rows, and yield each left row that is emitted, with the watermark of the advance."""
    ahead = sorted(set(advances.values()))
    for row, side in zip(rows, sides, strict=True):
        while ahead and ahead[0] <= row.watermark:
            at = ahead.pop(0)
            yield from ((match, at) for match in join.on_watermark(at))
        join.on_row(side, _KEY, row.ts, row)
    for at in ahead:
        yield from ((match, at) for match in join.on_watermark(at))
