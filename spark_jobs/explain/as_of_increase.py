"""The least increase of all bounds with which a late row of an as-of join counts.

A left row counts if it gets a version, a version if a left row gets it. Greater bounds make all watermarks earlier, by
the increase. The emission of a row depends on that, and so do the versions that its key has dropped by then.

A key drops versions when it fires, and it fires for other rows too (`AsOfJoin`). So a greater increase may undo the
effect of a smaller one, and a search by halves would be wrong.

Law: let W be the watermark before a row, and a the time of a left row that an increase lets come in time. The left row
gets the version R iff R arrives before a watermark reaches a, and no newer version up to a does. No key drops R by
then: a version is dropped for a newer one, and the left row would get that one. So it gets R with increases

    from    max(W of the left row, W of R) - a + 1       both come before the emission
    up to   W of the first newer version - a             which comes behind it

If a left row stays late, its key is processed for all increases at once, as ranges of increases with equal states.
Rules 100-104.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spark_jobs.explain.life import ArrivedRow
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.rows.instants import MAX

#: The states that are processed for one row, at most.
MOST_STATES = 2_000_000


@dataclass(frozen=True)
class Search:
    """The increases to search for a late row that does not count: from 1 to `most`, none for 0.

    `otherwise` is the least increase if none of these is enough; None: no greater one is.
    """

    most: int
    otherwise: int | None


def search_of(own: ArrivedRow, rows: Sequence[ArrivedRow], sides: Sequence[Side]) -> Search:
    """Return the search for a late row; `rows` are all of its key in the order of arrival, of `sides`."""
    of_sides = {side: [row for row, of in zip(rows, sides, strict=True) if of is side] for side in Side}
    lefts, versions = of_sides[Side.LEFT], of_sides[Side.RIGHT]
    if any(left.number == own.number for left in lefts):
        first = next((version for version in versions if version.ts <= own.ts), None)
        if first is None:
            return Search(0, None)
        in_time = max(first.watermark, own.watermark) - own.ts + 1
        # A version behind the emission of a late row is none for the row while it is late.
        return Search(in_time - 1 if first.watermark <= own.watermark else 0, in_time)
    fitting = [left for left in lefts if left.ts >= own.ts]
    least = min(_in_time(own, fitting, versions), default=None)
    most = max((left.watermark - left.ts for left in fitting if own.watermark <= left.watermark), default=0)
    return Search(max(most if least is None else min(most, least - 1), 0), least)


def _in_time(own: ArrivedRow, lefts: Sequence[ArrivedRow], versions: Sequence[ArrivedRow]) -> Iterator[int]:
    """Yield for left rows the least increase with which they come in time and get the version `own`."""
    newer = sorted((version for version in versions if _place(version) > _place(own)), key=lambda version: version.ts)
    first: ArrivedRow | None = None
    place = 0
    for left in sorted(lefts, key=lambda left: left.ts):
        while place < len(newer) and newer[place].ts <= left.ts:
            first = newer[place] if first is None or newer[place].number < first.number else first
            place += 1
        least = max(max(own.watermark, left.watermark) - left.ts + 1, 1)
        if first is None or least <= first.watermark - left.ts:
            yield least


def _place(row: ArrivedRow) -> tuple[int, int]:
    return row.ts, row.number


def least_increase_ms(
    own: ArrivedRow,
    rows: Sequence[ArrivedRow],
    sides: Sequence[Side],
    advances: Sequence[int],
    search: Search,
) -> int | None:
    """Return the least increase with which a late row counts; None if none does, or too many states are in between.

    `rows` and `search` are as in `search_of`. `advances` are watermarks, ascending. For each row they have the first
    watermark behind its arrival that attains t, for each t from its event time to `search.most` later.
    """
    if not search.most:
        return search.otherwise
    side = next(of for row, of in zip(rows, sides, strict=True) if row.number == own.number)
    ranges, states = [_Range(1, search.most, _State())], 0
    for event in _in_order(rows, sides, advances):
        if isinstance(event, int):
            ranges = _advanced(ranges, event, own.number, side)
        else:
            ranges = [replace(each, state=each.state.with_row(*event)) for each in ranges]
        states += len(ranges)
        if states > MOST_STATES:
            return None
    return next((each.least for each in ranges if each.state.counts), search.otherwise)


def _in_order(
    rows: Sequence[ArrivedRow], sides: Sequence[Side], advances: Sequence[int]
) -> Iterator[tuple[ArrivedRow, Side] | int]:
    """Yield the rows, and between them the advances, the last of which is the end of the input."""
    ahead = 0
    for row, side in zip(rows, sides, strict=True):
        while ahead < len(advances) and advances[ahead] <= row.watermark:
            yield advances[ahead]
            ahead += 1
        yield row, side
    yield from advances[ahead:]
    yield MAX


@dataclass(frozen=True)
class _State:
    """The state of a key as in `AsOfJoin`, with event times and numbers of rows; `counts`: the chosen row counts."""

    waiting: tuple[tuple[int, int], ...] = ()
    versions: tuple[tuple[int, int], ...] = ()
    timer: int | None = None
    counts: bool = False

    def with_row(self, row: ArrivedRow, side: Side) -> _State:
        """Return the state after the arrival of a row."""
        timer = row.ts if self.timer is None else min(self.timer, row.ts)
        if side is Side.LEFT:
            return replace(self, waiting=(*self.waiting, (row.ts, row.number)), timer=timer)
        rest = (version for version in self.versions if version[0] != row.ts)
        return replace(self, versions=tuple(sorted((*rest, (row.ts, row.number)))), timer=timer)

    def fired(self, watermark: int, own: int, side: Side) -> _State:
        """Return the state after an advance; `own` is the number of the chosen row, on `side`."""
        if self.timer is None or self.timer > watermark:
            return self
        counts = self.counts
        for ts, number in self.waiting:
            if ts <= watermark:
                version = max((of for of in self.versions if of[0] <= ts), default=None)
                is_own = version is not None and (number if side is Side.LEFT else version[1]) == own
                counts = counts or is_own
        waiting = tuple(left for left in self.waiting if left[0] > watermark)
        newest = max((ts for ts, _ in self.versions if ts <= watermark), default=None)
        versions = tuple(version for version in self.versions if newest is None or version[0] >= newest)
        return _State(waiting, versions, min((ts for ts, _ in waiting), default=None), counts)


@dataclass(frozen=True)
class _Range:
    """Increases from `least` to `most` under which the key is in one state."""

    least: int
    most: int
    state: _State

    def advanced(self, watermark: int, own: int, side: Side) -> Iterator[_Range]:
        """Yield the ranges after an advance of the watermark, which comes earlier by the increase."""
        timer = self.state.timer
        if watermark == MAX:
            yield replace(self, state=self.state.fired(MAX, own, side))
            return
        if timer is None or timer > watermark - self.least:
            yield self
            return
        # From one increase more than these on, the watermark does not reach the instant.
        instants = (timer, *(ts for ts, _ in self.state.waiting), *(ts for ts, _ in self.state.versions))
        lasts = {watermark - ts for ts in instants if self.least <= watermark - ts < self.most}
        least = self.least
        for most in (*sorted(lasts), self.most):
            yield _Range(least, most, self.state.fired(watermark - least, own, side))
            least = most + 1


def _advanced(ranges: Sequence[_Range], watermark: int, own: int, side: Side) -> list[_Range]:
    """Return the ranges after an advance, up to the first that counts; neighbours with equal states become one."""
    advanced: list[_Range] = []
    for each in (part for before in ranges for part in before.advanced(watermark, own, side)):
        if advanced and advanced[-1].state == each.state:
            advanced[-1] = replace(advanced[-1], most=each.most)
        else:
            advanced.append(each)
        if each.state.counts:
            break
    return advanced
