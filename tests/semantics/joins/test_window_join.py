"""The window join and the co-group: both sides in one window, whole groups again for late rows, sessions over both."""

from __future__ import annotations

from spark_jobs.pipeline.model import Emit, EmitKind, Watermark
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, gather
from spark_jobs.semantics.joins.window_join import CoGroup, Group
from spark_jobs.semantics.panes.window_operator import WindowOperator
from spark_jobs.semantics.rows.events import Row
from spark_jobs.semantics.sessions.session_operator import SessionOperator
from spark_jobs.semantics.windows.lateness import Lateness
from spark_jobs.semantics.windows.window_assigners import SlidingWindows, TimeWindow, TumblingWindows

LEFT, RIGHT = Side.LEFT, Side.RIGHT


def tumbling(lateness_ms: int = 0, *, discarding: bool = False) -> CoGroup[str, str]:
    operator: WindowOperator[str, tuple[Side, str]] = WindowOperator(
        TumblingWindows(10), allowed_lateness_ms=lateness_ms, discarding=discarding
    )
    return CoGroup(operator, allowed_lateness_ms=lateness_ms)


def firing(group: Group[str, str]) -> tuple[int, str, str, str]:
    return (group.index, group.timing.value, "".join(group.left), "".join(group.right))


def test_a_group_holds_both_sides_and_one_may_be_empty() -> None:
    groups = tumbling()
    for side, key, ts, row in [(LEFT, "k", 1, "a"), (RIGHT, "k", 9, "x"), (LEFT, "k", 0, "b"), (RIGHT, "l", 5, "y")]:
        assert groups.on_row(side, key, ts, row).groups == ()
    assert groups.on_watermark(8) == []
    full, half = groups.on_watermark(9)
    assert (firing(full), full.pairs, full.ts) == ((0, "on_time", "ab", "x"), (("a", "x"), ("b", "x")), 9)
    assert (firing(half), half.pairs) == ((0, "on_time", "", "y"), ())


def test_a_late_row_fires_all_pairs_of_its_group_again() -> None:
    groups = tumbling(5)
    groups.on_row(LEFT, "k", 1, "a")
    groups.on_row(RIGHT, "k", 1, "x")
    assert [firing(group) for group in groups.on_watermark(9)] == [(0, "on_time", "a", "x")]
    (again,) = groups.on_row(LEFT, "k", 2, "b").groups
    assert (firing(again), again.pairs) == ((1, "late", "ab", "x"), (("a", "x"), ("b", "x")))
    groups.on_watermark(14)
    outcome = groups.on_row(RIGHT, "k", 3, "y")
    assert (outcome.groups, outcome.fate) == ((), Lateness.TOO_LATE)


def test_a_discarding_group_holds_the_late_row_alone() -> None:
    groups = tumbling(5, discarding=True)
    groups.on_row(LEFT, "k", 1, "a")
    groups.on_watermark(9)
    (late,) = groups.on_row(RIGHT, "k", 2, "x").groups
    assert (firing(late), late.pairs) == ((1, "late", "", "x"), ())


def test_session_contains_rows_of_both_sides() -> None:
    operator: SessionOperator[str, tuple[Side, str]] = SessionOperator(5, allowed_lateness_ms=0, discarding=False)
    groups = CoGroup(operator, allowed_lateness_ms=0)
    for side, ts, row in [(LEFT, 0, "a"), (LEFT, 8, "b"), (RIGHT, 4, "x")]:
        groups.on_row(side, "k", ts, row)
    (session,) = groups.on_watermark(12)
    assert session.window == TimeWindow(0, 13)
    assert session.pairs == (("a", "x"), ("b", "x"))


def test_a_row_between_two_windows_has_no_fate_ahead_of_the_watermark() -> None:
    operator: WindowOperator[str, tuple[Side, str]] = WindowOperator(
        SlidingWindows(2, 10), allowed_lateness_ms=0, discarding=False
    )
    groups = CoGroup(operator, allowed_lateness_ms=0)
    assert groups.on_row(LEFT, "k", 5, "a").fate is None
    groups.on_watermark(5)
    assert groups.on_row(LEFT, "k", 5, "a").fate is Lateness.TOO_LATE


def rows(*happened: tuple[Side, int]) -> list[Arrival]:
    return [Arrival(side, "p", "k", ts, place * 1000, {"ts": ts}) for place, (side, ts) in enumerate(happened)]


def test_a_window_waits_for_the_slower_source() -> None:
    stream = rows((LEFT, 1), (LEFT, 30), (RIGHT, 2), (RIGHT, 30), (LEFT, 3))
    first, second = JoinSource(Watermark()), JoinSource(Watermark())
    gathered = gather(stream, _operator(), Emit(EmitKind.PER_EVENT), first, second)
    assert [(after, len(group.left), len(group.right)) for after, group, _ in gathered.groups] == [(4, 1, 1), (5, 1, 1)]
    assert [(late.arrival.ts, late.watermark) for late in gathered.late] == [(3, 29)]
    shared = gather(stream, _operator(), Emit(EmitKind.PER_EVENT), first)
    assert [(after, len(group.left), len(group.right)) for after, group, _ in shared.groups] == [(2, 1, 0), (5, 1, 1)]


def test_idle_source_holds_no_window_back() -> None:
    stream = rows((RIGHT, 0), (LEFT, 1), (LEFT, 12), (LEFT, 30))
    idle = JoinSource(Watermark(idle_timeout_ms=1))
    gathered = gather(stream, _operator(), Emit(EmitKind.PER_EVENT), JoinSource(Watermark()), idle)
    firings = [(after, clock_us, len(group.left), len(group.right)) for after, group, clock_us in gathered.groups]
    assert firings == [(4, 3000, 1, 1), (4, 3000, 1, 0), (4, 3000, 1, 0)]


def _operator() -> CoGroup[str, Row]:
    operator: WindowOperator[str, tuple[Side, Row]] = WindowOperator(
        TumblingWindows(10), allowed_lateness_ms=0, discarding=False
    )
    return CoGroup(operator, allowed_lateness_ms=0)
