"""The life of one key's windows is that of the whole job, and the least bound and lateness turn a row's verdict."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import pytest

from spark_jobs.explain.life import ArrivedRow, Life, least_bound_ms, least_lateness_ms, life
from spark_jobs.pipeline.model import Pipeline, Strategy
from spark_jobs.semantics.panes.window_operator import Verdict
from spark_jobs.semantics.rows.arrival_order import Comparable
from spark_jobs.semantics.rows.events import Event, EventReader
from spark_jobs.semantics.rows.instants import MAX, MIN, micros
from spark_jobs.semantics.spec import WindowKind, Windows
from spark_jobs.semantics.streaming_job import JudgedRow, StreamingJob
from spark_jobs.semantics.windows.lateness import Lateness
from tests.sampling import sampled
from tests.vectors.scenarios import Scenario, load_for_reference, load_triggers

SCENARIOS = [*load_for_reference(), *load_triggers()]
QUICK = SCENARIOS[::10]
CASES = [sampled(s, quick=s in QUICK, id=s.id) for s in SCENARIOS]


def job_of(scenario: Scenario, pipeline: Pipeline) -> StreamingJob:
    reader, job = EventReader(pipeline), StreamingJob(pipeline)
    events = [event for event in map(reader.read, scenario.rows) if isinstance(event, Event)]
    job.run(events, None if scenario.until is None else micros(scenario.until))
    return job


def by_key(judged: list[JudgedRow]) -> dict[Comparable, list[ArrivedRow]]:
    rows = defaultdict(list)
    for number, row in enumerate(judged):
        rows[row.event.row["key"]].append(ArrivedRow(number, row.event.ts, row.watermark, number))
    return rows


def too_late(verdicts: tuple[Verdict[Comparable, Event], ...]) -> bool:
    return all(verdict.lateness is Lateness.TOO_LATE for verdict in verdicts)


def panes_of(lived: Life, job: StreamingJob) -> Iterator[tuple[object, ...]]:
    """Return each pane with its rows, and the clock and the watermark of its firing."""
    for fired in lived.panes:
        pane = fired.pane
        if fired.row is not None:
            judged = job.judged[fired.row]
            clock, watermark = judged.event.clock_us, judged.watermark
        else:
            reached = next(a for a in job.calendar.advances if fired.fires_ms is None or a.watermark >= fired.fires_ms)
            clock, watermark = reached.clock_us, reached.watermark
        yield pane.window, pane.index, pane.timing, tuple(row.number for row in pane.rows), clock, watermark


@pytest.mark.parametrize("scenario", CASES)
def test_verdicts_and_panes_are_those_of_the_job(scenario: Scenario) -> None:
    job = job_of(scenario, scenario.pipeline)
    numbers = {id(judged.event): number for number, judged in enumerate(job.judged)}
    lives = {key: life(rows, scenario.pipeline.windows, job.watermark) for key, rows in by_key(job.judged).items()}
    for number, judged in enumerate(job.judged):
        of_key = lives[judged.event.row["key"]]
        assert [(v.window, v.lateness) for v in of_key.verdicts[number]] == [
            (v.window, v.lateness) for v in judged.verdicts
        ]
    for key, of_key in lives.items():
        assert list(panes_of(of_key, job)) == [
            (
                fired.pane.window,
                fired.pane.index,
                fired.pane.timing,
                tuple(numbers[id(event)] for event in fired.pane.rows),
                fired.clock_us,
                fired.pane.watermark,
            )
            for fired in job.fired
            if fired.pane.rows and fired.pane.rows[0].row["key"] == key
        ]


def bounded(scenario: Scenario, more_ms: int) -> Pipeline:
    """Return the pipeline of a scenario with a greater bound; the bound of monotonous timestamps is 0."""
    watermark = scenario.pipeline.watermark
    greater = replace(
        watermark, strategy=Strategy.BOUNDED_OUT_OF_ORDERNESS, out_of_orderness_ms=watermark.bound_ms + more_ms
    )
    return replace(scenario.pipeline, watermark=greater)


def lagging(scenario: Scenario, more_ms: int) -> Pipeline:
    watermark = scenario.pipeline.watermark
    return replace(scenario.pipeline, watermark=replace(watermark, lag_ms=watermark.lag_ms + more_ms))


def lenient(scenario: Scenario, more_ms: int) -> Pipeline:
    windows = scenario.pipeline.windows
    return replace(
        scenario.pipeline, windows=replace(windows, allowed_lateness_ms=windows.allowed_lateness_ms + more_ms)
    )


@pytest.mark.parametrize("scenario", CASES)
def test_the_least_bound_and_lateness_turn_the_verdict_and_a_millisecond_less_does_not(scenario: Scenario) -> None:
    job = job_of(scenario, scenario.pipeline)
    rows = by_key(job.judged)
    late = [number for number, judged in enumerate(job.judged) if judged.verdicts and too_late(judged.verdicts)]
    ways = [(least_lateness_ms, lenient)]
    if scenario.pipeline.watermark.is_bounded:
        ways.append((least_bound_ms, bounded))
    elif scenario.pipeline.watermark.follows_clock:
        ways.append((least_bound_ms, lagging))
    for number in [late[0], late[-1]] if late else []:
        of_key = rows[job.judged[number].event.row["key"]]
        (row,) = (row for row in of_key if row.number == number)
        for least, changed in ways:
            more = least(row, of_key, scenario.pipeline.windows)
            assert more is not None
            assert not too_late(job_of(scenario, changed(scenario, more)).judged[number].verdicts)
            assert too_late(job_of(scenario, changed(scenario, more - 1)).judged[number].verdicts)


def test_no_row_is_too_late_at_the_end_of_the_input() -> None:
    rows = [ArrivedRow(0, 0, -(2**63), 0)]
    lived = life(rows, SCENARIOS[0].pipeline.windows, MAX)
    assert [verdict.lateness for verdict in lived.verdicts[0]] == [Lateness.ON_TIME] * len(lived.verdicts[0])


ONE_WINDOW = Windows(size_ms=10, allowed_lateness_ms=100)


def test_the_panes_of_a_window_share_its_rows() -> None:
    # Each row but the first fires a late pane with all rows before it.
    count = 3_000
    rows = [ArrivedRow(1, 0, MIN, 1), *(ArrivedRow(number, 0, 20, 2) for number in range(2, count + 1))]
    tracemalloc.start()
    lived = life(rows, ONE_WINDOW)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(lived.panes) == count
    assert [len(fired.pane.rows) for fired in lived.panes[-2:]] == [count - 1, count]
    assert [fired.contains(count - 1) for fired in lived.panes[-3:]] == [False, True, True]
    # A copy for each pane takes more than 30 MB.
    assert peak < 10 * 2**20


def test_what_would_have_saved_a_row_of_a_window_depends_on_no_other_row() -> None:
    own = ArrivedRow(9, 0, 150, 9)
    assert least_lateness_ms(own, [], ONE_WINDOW) == 42
    assert least_bound_ms(own, [], ONE_WINDOW) == 42


def test_what_would_have_saved_a_row_of_a_session_depends_on_rows_before_it() -> None:
    sessions = Windows(gap_ms=10, kind=WindowKind.SESSION)
    # With a session to 18 in flight, the row at 3 merges with it.
    before, own, behind = ArrivedRow(1, 8, MIN, 1), ArrivedRow(2, 3, 20, 2), ArrivedRow(3, 1, 21, 3)
    assert least_lateness_ms(own, [before, own], sessions) == 4
    assert least_lateness_ms(own, [before, own, behind], sessions) == 4
    assert least_lateness_ms(own, [own, behind], sessions) == 9
