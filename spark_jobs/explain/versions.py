"""Versions: which version a row of an as-of join found, and which it did not find although it is of its time.

The operator of the reference processes all rows of the key in the order of arrival. Between them it takes the advances
that can fire the key. For a row this is the first to reach max(ts, W + 1), with W the watermark before it. Rules
100-105.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def fits(rows: Sequence[ArrivedRow], sides: Sequence[Side], advances: Mapping[int, int]) -> list[Fit]:
    """Return for each left row the version that it found, and every version that is newer and not after it.

    `rows` are those of a key in the order of arrival. `advances` has the watermark of the first advance that attains
    each reach of a row; a reach that none attains is absent.
    """
    emitted = {match.left.number: (match, at) for match, at in _emitted(rows, sides, advances)}
    versions = [row for row, side in zip(rows, sides, strict=True) if side is Side.RIGHT]
    listed = list[Fit]()
    for row, side in zip(rows, sides, strict=True):
        if side is Side.LEFT:
            match, at = emitted.get(row.number, (None, None))
            listed += _of_left(row, versions, match, at)
    return listed


def _emitted(
    rows: Sequence[ArrivedRow], sides: Sequence[Side], advances: Mapping[int, int]
) -> Iterator[tuple[Match[ArrivedRow], int]]:
    """Yield each left row that is emitted, with the watermark of the advance."""
    join: AsOfJoin[_Key, ArrivedRow] = AsOfJoin()
    ahead = sorted(set(advances.values()))
    for row, side in zip(rows, sides, strict=True):
        while ahead and ahead[0] <= row.watermark:
            at = ahead.pop(0)
            yield from ((match, at) for match in join.on_watermark(at))
        join.on_row(side, _KEY, row.ts, row)
    for at in ahead:
        yield from ((match, at) for match in join.on_watermark(at))


def _of_left(
    row: ArrivedRow, versions: Sequence[ArrivedRow], match: Match[ArrivedRow] | None, at: int | None
) -> Iterator[Fit]:
    valid = [version for version in versions if version.ts <= row.ts]
    for version in sorted(valid, key=lambda each: (each.ts, each.number), reverse=True):
        if match is not None and match.right is not None and version.number == match.right.number:
            yield Fit(row.number, version.number, Meeting.JOINED, at)
            return
        came_after = at is not None and version.watermark >= at
        yield Fit(row.number, version.number, Meeting.TOO_LATE if came_after else Meeting.EXPIRED, at)
