"""The least increase of all bounds turns the verdict on a late row of an as-of join, and no smaller one does."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from spark_jobs.explain.as_of_increase import Search, least_increase_ms, search_of
from spark_jobs.explain.life import ArrivedRow
from spark_jobs.semantics.joins.as_of_join import AsOfJoin
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import join_as_of
from spark_jobs.semantics.rows.instants import MAX, MIN
from tests.explain.test_partners import are_bounded, wider
from tests.vectors.as_of_joins import AsOfScenario, load_as_of_joins

LEFT, RIGHT = Side.LEFT, Side.RIGHT
SCENARIOS = [scenario for scenario in load_as_of_joins() if are_bounded(scenario)]
Rows = list[tuple[ArrivedRow, Side]]


def counting(scenario: AsOfScenario, increase: int) -> set[int]:
    """Return the rows that join as the reference has it, at greater bounds and with all of the input."""
    versioned = join_as_of(scenario.arrivals, scenario.emit, *wider(scenario.sources, increase))
    pairs = [(match.left, match.right) for _, match, *_ in versioned.emitted]
    return {arrival.row["index"] for left, right in pairs if right is not None for arrival in (left, right)}


def keys_of(scenario: AsOfScenario) -> Mapping[str | None, Rows]:
    """Return the rows of each key with the watermark before them, by their numbers in the scenario."""
    marks = scenario.versioned().watermarks
    keys: dict[str | None, Rows] = {}
    for number, arrival in enumerate(scenario.arrivals):
        before = [watermark for arrived, watermark in marks if arrived <= number and watermark < MAX]
        row = ArrivedRow(number, arrival.ts, before[-1] if before else MIN, number)
        keys.setdefault(arrival.key, []).append((row, arrival.side))
    return keys


def least_increase(own: ArrivedRow, of_key: Rows, advances: list[int]) -> int | None:
    rows, sides = [row for row, _ in of_key], [side for _, side in of_key]
    return least_increase_ms(own, rows, sides, advances, search_of(own, rows, sides))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_least_increase_lets_a_late_row_join_and_no_smaller_one_does(scenario: AsOfScenario) -> None:
    advances = sorted({watermark for _, watermark in scenario.versioned().watermarks if watermark < MAX})
    times = {arrival.ts for arrival in scenario.arrivals}
    turns = sorted({mark - ts + 1 for mark in advances for ts in times if mark >= ts})
    draw, joining = random.Random(scenario.id), counting(scenario, 0)
    late = [
        (row, of_key)
        for of_key in keys_of(scenario).values()
        for row, _ in of_key
        if row.ts <= row.watermark and row.number not in joining
    ]
    for own, of_key in draw.sample(late, min(len(late), 3)):
        least = least_increase(own, of_key, advances)
        smaller = [turn for turn in turns if least is None or turn < least]
        checked = draw.sample(smaller, min(len(smaller), 12))
        if least is not None:
            assert own.number in counting(scenario, least)
            checked.append(least - 1)
        assert not [increase for increase in checked if own.number in counting(scenario, increase)]


def joins(own: ArrivedRow, of_key: Rows, advances: list[int], increase: int) -> bool:
    """Return whether a row joins by the join itself, if watermarks come earlier by the increase."""
    join: AsOfJoin[str, int] = AsOfJoin()
    pairs, ahead = set(), list(advances)
    for row, side in of_key:
        while ahead and ahead[0] <= row.watermark:
            pairs |= {(match.left, match.right) for match in join.on_watermark(ahead.pop(0) - increase)}
        join.on_row(side, "key", row.ts, row.number)
    for watermark in [*(mark - increase for mark in ahead), MAX]:
        pairs |= {(match.left, match.right) for match in join.on_watermark(watermark)}
    return any(right is not None and own.number in (left, right) for left, right in pairs)


@pytest.mark.parametrize("seed", range(250))
def test_the_least_increase_is_that_of_a_search_one_by_one(seed: int) -> None:
    draw = random.Random(seed)
    advances = sorted(draw.sample(range(30), draw.randint(1, 12)))
    marks = sorted(draw.choice([MIN, *advances]) for _ in range(draw.randint(2, 12)))
    rows = [ArrivedRow(n, draw.randrange(34), mark, n) for n, mark in enumerate(marks)]
    of_key = [(row, draw.choice([LEFT, RIGHT])) for row in rows]
    for own in rows:
        if own.ts <= own.watermark and not joins(own, of_key, advances, 0):
            expected = next((n for n in range(1, 40) if joins(own, of_key, advances, n)), None)
            assert least_increase(own, of_key, advances) == expected


def test_a_greater_increase_may_undo_a_smaller_one() -> None:
    # The key fires for the row at 5 before the version at 9 has replaced that at 2, which the late row at 7 gets.
    arrived = [(RIGHT, 2, MIN), (RIGHT, 9, MIN), (LEFT, 5, MIN), (LEFT, 7, 12)]
    rows = [ArrivedRow(number, ts, mark, number) for number, (_, ts, mark) in enumerate(arrived)]
    of_key = [(row, side) for row, (side, *_) in zip(rows, arrived, strict=True)]
    advances = [6, 12]
    own = rows[-1]
    assert [joins(own, of_key, advances, increase) for increase in range(6)] == [True, True, False, False, True, True]


def test_a_search_that_needs_too_many_states_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.explain.as_of_increase.MOST_STATES", 1)
    arrived = [(RIGHT, 2, MIN), (RIGHT, 9, MIN), (LEFT, 7, 12)]
    rows = [ArrivedRow(number, ts, mark, number) for number, (_, ts, mark) in enumerate(arrived)]
    sides = [side for side, *_ in arrived]
    search = search_of(rows[-1], rows, sides)
    assert search == Search(5, 6)
    assert least_increase_ms(rows[-1], rows, sides, [11, 12], search) is None
    monkeypatch.undo()
    # With 3 the key fires at 8 for the version at 2, and never for that at 9, which would replace it.
    assert least_increase_ms(rows[-1], rows, sides, [11, 12], search) == 3
