"""The rules of an as-of join: which version a row finds, when it is emitted, and what a key keeps."""

from __future__ import annotations

from spark_jobs.semantics.joins.as_of_join import AsOfJoin, Match
from spark_jobs.semantics.joins.interval_join import Side

LEFT, RIGHT = Side.LEFT, Side.RIGHT

Moment = tuple[Side, int] | int


def emitted(*moments: Moment, key: str | None = "k") -> list[tuple[int, int | None]]:
    """Return the rows of one key with their versions; a moment is a row's side and time, or a watermark."""
    join: AsOfJoin[str | None, int] = AsOfJoin()
    return [(match.ts, match.right_ts) for match in run(join, *moments, key=key)]


def run(join: AsOfJoin[str | None, int], *moments: Moment, key: str | None = "k") -> list[Match[int]]:
    matches: list[Match[int]] = []
    for moment in moments:
        if isinstance(moment, int):
            matches += join.on_watermark(moment)
        else:
            join.on_row(moment[0], key, moment[1], moment[1])
    return matches


def test_a_row_joins_the_newest_version_that_is_not_after_it() -> None:
    assert emitted((RIGHT, 3), (RIGHT, 5), (RIGHT, 8), (LEFT, 7), 9) == [(7, 5)]


def test_a_version_of_the_same_time_is_valid() -> None:
    assert emitted((LEFT, 5), (RIGHT, 5), 5) == [(5, 5)]


def test_the_last_version_of_a_time_replaces_earlier_ones() -> None:
    join: AsOfJoin[str, str] = AsOfJoin()
    for name in ("first", "second"):
        join.on_row(RIGHT, "k", 5, name)
    join.on_row(LEFT, "k", 5, "row")
    assert [match.right for match in join.on_watermark(5)] == ["second"]


def test_a_row_waits_until_the_watermark_reaches_it() -> None:
    join: AsOfJoin[str | None, int] = AsOfJoin()
    assert run(join, (LEFT, 7), 6) == []
    assert len(run(join, 7)) == 1


def test_a_version_that_comes_before_the_emission_counts() -> None:
    assert emitted((LEFT, 7), 6, (RIGHT, 4), 7) == [(7, 4)]


def test_a_late_row_is_emitted_at_the_next_advance() -> None:
    assert emitted(10, (LEFT, 7), 11) == [(7, None)]


def test_a_row_at_the_watermark_is_late() -> None:
    join: AsOfJoin[str, int] = AsOfJoin()
    join.on_watermark(10)
    assert [join.on_row(side, "k", ts, ts) for side in Side for ts in (10, 11)] == [True, False, True, False]


def test_a_key_that_fires_keeps_the_newest_version_reached_and_those_ahead() -> None:
    join: AsOfJoin[str | None, int] = AsOfJoin()
    run(join, (RIGHT, 1), (RIGHT, 4), (RIGHT, 6), (RIGHT, 9), 7)
    assert join.versions("k") == [6, 9]
    assert join.versions("other") == []


def test_a_version_ahead_loses_its_timer_when_its_key_fires() -> None:
    join: AsOfJoin[str | None, int] = AsOfJoin()
    run(join, (LEFT, 100), 50, (RIGHT, 80), (RIGHT, 60), 65, 90)
    assert join.versions("k") == [60, 80]
    assert [(match.ts, match.right_ts) for match in run(join, (LEFT, 70), 91)] == [(70, 60)]
    assert join.versions("k") == [80]


def test_a_version_that_fires_its_key_leaves_nothing_for_a_late_row_before_it() -> None:
    assert emitted((RIGHT, 60), 65, (RIGHT, 80), 90, (LEFT, 70), 91) == [(70, None)]


def test_rows_without_a_key_join_each_other() -> None:
    assert emitted((RIGHT, 5), (LEFT, 6), 6, key=None) == [(6, 5)]


def test_rows_of_other_keys_do_not_join() -> None:
    join: AsOfJoin[str, int] = AsOfJoin()
    join.on_row(RIGHT, "other", 5, 5)
    join.on_row(LEFT, "k", 6, 6)
    assert [match.right for match in join.on_watermark(6)] == [None]
