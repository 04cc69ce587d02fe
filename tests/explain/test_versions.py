"""The versions of each row are those of the whole join; what it did not find came after it, or was dropped."""

from __future__ import annotations

from bisect import bisect_left

import pytest

from spark_jobs.explain.explanations import Meeting
from spark_jobs.explain.life import ArrivedRow
from spark_jobs.explain.versions import Fit, fits, reach
from spark_jobs.pipeline.model import AsOf
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.rows.instants import MIN
from tests.vectors.as_of_joins import AsOfScenario, load_as_of_joins, matches_of

LEFT, RIGHT = Side.LEFT, Side.RIGHT


def of_key(scenario: AsOfScenario, key: str | None, side: Side) -> list[Fit]:
    """Return the fits of all rows of a side of a key; rows have the numbers of the scenario."""
    versioned, arrivals = scenario.versioned(), scenario.arrivals
    marks = versioned.watermarks
    rows, sides = [], []
    for number, arrival in enumerate(arrivals):
        if arrival.key == key:
            before = [watermark for arrived, watermark in marks if arrived <= number]
            rows.append(ArrivedRow(number, arrival.ts, before[-1] if before else MIN, number))
            sides.append(arrival.side)
    values = [watermark for _, watermark in marks]
    reached = {ms: bisect_left(values, ms) for ms in map(reach, rows)}
    advances = {ms: values[place] for ms, place in reached.items() if place < len(values)}
    chosen = {row.number for row, of in zip(rows, sides, strict=True) if of is side}
    return [fit for each in fits(rows, sides, advances, chosen).values() for fit in each]


@pytest.mark.parametrize("scenario", load_as_of_joins(), ids=lambda scenario: scenario.id)
def test_joined_versions_are_those_of_the_join(scenario: AsOfScenario) -> None:
    keys = {arrival.key for arrival in scenario.arrivals}
    of_left, of_versions = ([fit for key in keys for fit in of_key(scenario, key, side)] for side in (LEFT, RIGHT))
    joined = sorted((fit.left, fit.version) for fit in of_left if fit.meeting is Meeting.JOINED)
    matches = matches_of(scenario.versioned(), AsOf.INNER)
    assert joined == sorted((left, right) for left, right, _ in matches)
    assert sorted(map(str, of_left)) == sorted(map(str, of_versions))


@pytest.mark.parametrize("scenario", load_as_of_joins(), ids=lambda scenario: scenario.id)
def test_a_row_has_its_version_and_newer_ones_or_else_the_newest(scenario: AsOfScenario) -> None:
    listed: dict[int, list[int]] = {}
    for key in {arrival.key for arrival in scenario.arrivals}:
        for fit in of_key(scenario, key, LEFT):
            listed.setdefault(fit.left, []).append(fit.version)
    for _, match, *_ in scenario.versioned().emitted:
        left = match.left
        not_after = sorted(
            (version.ts, index)
            for index, version in enumerate(scenario.arrivals)
            if version.side is RIGHT and version.key == left.key and version.ts <= left.ts
        )
        versions = [index for _, index in not_after]
        first = -1 if match.right is None else versions.index(match.right.row["index"])
        assert listed.get(left.row["index"], []) == versions[first:][::-1]


def meetings(*moments: tuple[Side, int, int], advances: dict[int, int]) -> list[tuple[int, Meeting]]:
    """Return the numbers and meetings of versions with the only left row.

    A moment is a side, an event time and a watermark.
    """
    rows = [ArrivedRow(number, ts, watermark, number) for number, (_, ts, watermark) in enumerate(moments)]
    sides = [side for side, *_ in moments]
    number = sides.index(LEFT)
    return [(fit.version, fit.meeting) for fit in fits(rows, sides, advances, {number})[number]]


def test_a_version_after_the_emission_is_too_late() -> None:
    moments = [(RIGHT, 5, MIN), (LEFT, 10, MIN), (RIGHT, 8, 12)]
    assert meetings(*moments, advances={5: 12, 10: 12}) == [(2, Meeting.TOO_LATE), (0, Meeting.JOINED)]


def test_a_version_that_a_newer_one_has_replaced_is_dropped() -> None:
    moments = [(RIGHT, 5, MIN), (RIGHT, 9, 6), (LEFT, 7, 12)]
    assert meetings(*moments, advances={5: 6, 9: 12, 13: 13}) == [(0, Meeting.EXPIRED)]


def test_a_row_without_a_version_has_the_newest_that_it_missed() -> None:
    # Watermark 12 drops all of them for the version of 9; of two of one time the last to arrive counts.
    dropped = [(RIGHT, 3, MIN), (RIGHT, 5, MIN), (RIGHT, 5, MIN), (RIGHT, 9, MIN), (LEFT, 7, 12)]
    assert meetings(*dropped, advances={3: 12, 5: 12, 9: 12, 13: 20}) == [(2, Meeting.EXPIRED)]
    assert meetings(*dropped, advances={3: 12, 5: 12, 9: 12}) == [(2, Meeting.EXPIRED)], "it waits"
    came_after = [(LEFT, 7, MIN), (RIGHT, 6, 12), (RIGHT, 5, 12)]
    assert meetings(*came_after, advances={7: 12, 13: 20}) == [(1, Meeting.TOO_LATE)]
    # The newest decides, whatever became of the older ones.
    assert meetings(*dropped, (RIGHT, 6, 20), advances={3: 12, 5: 12, 9: 12, 13: 20}) == [(5, Meeting.TOO_LATE)]
    assert meetings(*dropped, (RIGHT, 4, 20), advances={3: 12, 5: 12, 9: 12, 13: 20}) == [(2, Meeting.EXPIRED)]
    assert meetings((LEFT, 7, MIN), (RIGHT, 8, MIN), advances={7: 12, 8: 12}) == []


def test_a_row_waits_for_the_version_that_it_would_join_now() -> None:
    assert meetings((RIGHT, 5, MIN), (LEFT, 10, MIN), advances={5: 6}) == [(0, Meeting.WAITING)]
    # No advance reaches 15, and the version at 10 is kept.
    waits = [(RIGHT, 8, MIN), (RIGHT, 10, MIN), (LEFT, 15, MIN)]
    assert meetings(*waits, advances={8: 12, 10: 12}) == [(1, Meeting.WAITING)]
    # Of two versions of one time the last to arrive counts.
    assert meetings((RIGHT, 5, MIN), (RIGHT, 5, MIN), (LEFT, 10, MIN), advances={}) == [(1, Meeting.WAITING)]
    # A late row waits for the next advance, and what its key has dropped is gone.
    late = [(RIGHT, 5, MIN), (RIGHT, 9, MIN), (LEFT, 7, 12)]
    assert meetings(*late, advances={5: 12, 9: 12}) == [(0, Meeting.EXPIRED)]


def test_only_the_fits_of_chosen_rows_are_listed() -> None:
    count = 2_000
    rows = [ArrivedRow(number, number, MIN, number) for number in range(count)]
    sides = [LEFT if number % 2 else RIGHT for number in range(count)]
    listed = fits(rows, sides, {}, {1, 0, count - 1})
    assert {number: len(each) for number, each in listed.items()} == {0: 1, 1: 1, count - 1: 1}
