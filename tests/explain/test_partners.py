"""Partners of a row are the pairs of the whole join; the least increase of all bounds turns a late row's verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.explain.explanations import Meeting
from spark_jobs.explain.life import ArrivedRow, least_bound_ms
from spark_jobs.explain.partners import met
from spark_jobs.pipeline.model import Strategy
from spark_jobs.semantics.joins.interval_join import JoinBounds, Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, gather, join
from spark_jobs.semantics.joins.window_join import CoGroup
from spark_jobs.semantics.rows.events import Row
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.streaming_job import operator
from spark_jobs.semantics.windows.lateness import Lateness
from tests.vectors.cogroups import CoGroupScenario, load_cogroups
from tests.vectors.joins import JoinScenario, late_of, load_joins

JOINS, GROUPS = load_joins(), load_cogroups()


def name_of(scenario: JoinScenario) -> str:
    return scenario.id


def watermark_before(watermarks: list[tuple[int, int]], number: int) -> int:
    """Return the watermark before the row of a number; `watermarks` has the number of rows before each."""
    before = [watermark for arrived, watermark in watermarks if arrived <= number]
    return before[-1] if before else MIN


def within_reach(scenario: JoinScenario, arrival: Arrival, other: Arrival) -> bool:
    if other.key != arrival.key or other.side is arrival.side:
        return False
    left, right = (arrival, other) if arrival.side is Side.LEFT else (other, arrival)
    return scenario.bounds.joins(left.ts, right.ts)


@pytest.mark.parametrize("scenario", JOINS, ids=name_of)
def test_partners_are_the_pairs_of_the_join(scenario: JoinScenario) -> None:
    joined, arrivals = scenario.joined(), scenario.arrivals
    rows = [
        ArrivedRow(number, arrival.ts, watermark_before(joined.watermarks, number), number)
        for number, arrival in enumerate(arrivals)
    ]
    pairs = {frozenset((p.left["index"], p.right["index"])) for _, p in joined.pairs}
    late = {*late_of(joined, Side.LEFT), *late_of(joined, Side.RIGHT)}
    for number, arrival in enumerate(arrivals):
        near = [row for row in rows if row.number == number or within_reach(scenario, arrival, arrivals[row.number])]
        result = met(rows[number], arrival.side, near, scenario.bounds)
        assert result.is_late == (number in late)
        for other, meeting in result.meetings.items():
            assert (meeting is Meeting.JOINED) == (frozenset((number, other)) in pairs)
            assert (meeting is Meeting.TOO_LATE) == bool(late & {number, other})


def test_a_row_at_the_watermark_stays_until_the_watermark_advances() -> None:
    left, right = ArrivedRow(0, 10, 10, 0), ArrivedRow(1, 10, 10, 0)
    for own, side in ((left, Side.LEFT), (right, Side.RIGHT)):
        assert list(met(own, side, [left, right], JoinBounds(-5, 0)).meetings.values()) == [Meeting.JOINED]
    # An advance to the last instant of the left row drops it before the right row comes, which is not late.
    earlier = ArrivedRow(0, 10, 9, 0)
    for own, side in ((earlier, Side.LEFT), (right, Side.RIGHT)):
        assert list(met(own, side, [earlier, right], JoinBounds(-5, 0)).meetings.values()) == [Meeting.EXPIRED]


def wider(sources: tuple[JoinSource, JoinSource | None], more_ms: int) -> list[JoinSource]:
    """Return sources whose bounds are greater; the bound of monotonous timestamps is 0."""
    return [
        replace(
            source,
            watermark=replace(
                source.watermark,
                strategy=Strategy.BOUNDED_OUT_OF_ORDERNESS,
                out_of_orderness_ms=source.watermark.bound_ms + more_ms,
            ),
        )
        for source in sources
        if source is not None
    ]


def are_bounded(scenario: JoinScenario) -> bool:
    return all(source.watermark.is_bounded for source in scenario.sources if source is not None)


@pytest.mark.parametrize("scenario", [s for s in JOINS if are_bounded(s)], ids=name_of)
def test_the_least_increase_of_all_bounds_lets_a_row_join(scenario: JoinScenario) -> None:
    joined = scenario.joined()
    late = [arrival.row["index"] for arrival in joined.late]
    for number in [late[0], late[-1]] if late else []:
        more = watermark_before(joined.watermarks, number) - scenario.arrivals[number].ts
        for increase, is_late in ((more, False), (more - 1, True)):
            sources = wider(scenario.sources, increase)
            again = join(scenario.arrivals, scenario.bounds, scenario.emit, *sources, until_us=scenario.until_us)
            assert (number in {arrival.row["index"] for arrival in again.late}) == is_late


@pytest.mark.parametrize("scenario", [s for s in GROUPS if are_bounded(s)], ids=name_of)
def test_the_least_increase_of_all_bounds_lets_a_row_into_a_group(scenario: CoGroupScenario) -> None:
    judged, windows = scenario.gathered().judged, scenario.windows
    late = [number for number, row in enumerate(judged) if row.fate is Lateness.TOO_LATE]
    for number in [late[0], late[-1]] if late else []:
        of_key = [
            ArrivedRow(place, row.arrival.ts, row.watermark, place)
            for place, row in enumerate(judged)
            if row.arrival.key == judged[number].arrival.key
        ]
        (own,) = (row for row in of_key if row.number == number)
        more = least_bound_ms(own, of_key, windows)
        if windows.slide_ms > windows.size_ms > 0 and more is None:
            continue  # The row lies between two windows.
        assert more is not None
        for increase, is_late in ((more, False), (more - 1, True)):
            co_group: CoGroup[str, Row] = CoGroup(operator(windows), allowed_lateness_ms=windows.allowed_lateness_ms)
            sources = wider(scenario.sources, increase)
            again = gather(scenario.arrivals, co_group, scenario.emit, *sources, until_us=scenario.until_us)
            assert (again.judged[number].fate is Lateness.TOO_LATE) == is_late
