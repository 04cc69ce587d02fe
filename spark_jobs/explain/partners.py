"""Partners: the rows of the other input within reach of a row in a join by interval, and whether the two joined.

The operator of the reference processes the row and its partners in the order of arrival, each at the watermark before
it. Rows beyond reach join neither and change nothing, so they are left out. Rules 90-93.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.explain.explanations import Meeting
from spark_jobs.explain.life import ArrivedRow
from spark_jobs.semantics.joins.interval_join import IntervalJoin, JoinBounds, Side

_Key = tuple[()]
_KEY: _Key = ()


@dataclass(frozen=True)
class Met:
    """Whether a row was late, and what became of it and each partner, by the partner's number."""

    is_late: bool
    meetings: Mapping[int, Meeting]


def met(own: ArrivedRow, side: Side, rows: Sequence[ArrivedRow], reach: JoinBounds) -> Met:
    """Process `rows`, which are in the order of arrival: `own`, of `side`, and its partners of the other side."""
    join: IntervalJoin[_Key, int] = IntervalJoin(reach)
    other_side = Side.RIGHT if side is Side.LEFT else Side.LEFT
    late, joined, risen = set(), set(), None
    for row in rows:
        # Rows are dropped at an advance only: a watermark that stays has no effect.
        if risen is None or row.watermark > risen:
            join.on_watermark(row.watermark)
            risen = row.watermark
        is_own = row.number == own.number
        outcome = join.on_row(side if is_own else other_side, _KEY, row.ts, row.number)
        if outcome.is_late:
            late.add(row.number)
        joined |= {number for pair in outcome.pairs for number in (pair.left, pair.right)}
    meetings = {
        row.number: Meeting.JOINED
        if row.number in joined
        else Meeting.TOO_LATE
        if late & {own.number, row.number}
        else Meeting.EXPIRED
        for row in rows
        if row.number != own.number
    }
    return Met(own.number in late, meetings)
