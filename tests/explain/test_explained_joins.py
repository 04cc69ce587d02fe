"""The explanation of each row of a join on Spark is what the join of the reference did with the row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.explain.explanations import UNASSIGNED, ExplainedRow, Meeting
from spark_jobs.explain.rows import explain_rows
from spark_jobs.explain.streams import Stream, of_as_of_join, of_interval_join, of_window_join
from spark_jobs.pipeline.model import AsOf
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Gathered
from spark_jobs.semantics.rows.instants import MAX, MIN, micros, table_time, table_time_us
from tests.explain.test_as_of_increase import keys_of, least_increase
from tests.sampling import sampled
from tests.support.joining import inputs_of
from tests.support.recorded_on_spark import chosen
from tests.vectors.as_of_joins import AsOfScenario, load_as_of_joins, matches_of
from tests.vectors.cogroups import CoGroupScenario, load_cogroups
from tests.vectors.joins import JoinScenario, late_of, load_joins, pairs_of
from tests.vectors.spark_joins import joining, rows_of

pytestmark = pytest.mark.spark

NAMES = ("orders", "payments")


def fewest_rows(scenario: JoinScenario) -> int:
    """Return how many pairs, and late rows, a scenario has at the least."""
    return min(len(scenario.pairs), len(scenario.recorded["late_left"]))


def of_each_kind(scenario: JoinScenario) -> set[tuple[Any, ...]]:
    """Return what a scenario has of everything that explanations treat apart."""
    declared = scenario.declared
    kind, mode = declared["strategy"]["kind"], declared["emit"]["mode"]
    return {(kind, mode), (bool(declared["join"].get("shared_source")), "idle_timeout_ms" in declared)}


BY_INTERVAL = sorted(load_joins(), key=fewest_rows, reverse=True)
BY_WINDOW = sorted(load_cogroups(), key=lambda scenario: -min(scenario.recorded["dropped"], len(scenario.groups)))
SAMPLE = chosen(BY_INTERVAL, 60, of_each_kind)
SAMPLE_BY_WINDOW = BY_WINDOW[:60]
AS_OF = sorted(load_as_of_joins(), key=lambda scenario: -len(scenario.late[Side.LEFT]))
SAMPLE_AS_OF = chosen(AS_OF, 40, of_each_kind)


@pytest.mark.parametrize("scenario", [sampled(s, quick=s in SAMPLE[:1], id=s.id) for s in SAMPLE])
def test_partners_of_each_row_are_the_pairs_of_the_join(session: SparkSession, scenario: JoinScenario) -> None:
    rows, pipeline = rows_of(scenario), joining(*scenario.sources, scenario.emit)
    stream = of_interval_join(
        *inputs_of(session, rows[::-1], pipeline), pipeline, scenario.bounds, NAMES, until_us=scenario.until_us
    )
    explained = explain_rows(stream, [F.lit(True), F.lit(True)], len(rows) + 1, scenario.bounds)
    in_order = assert_places(explained, rows)
    joined = scenario.joined()
    late = {*late_of(joined, Side.LEFT), *late_of(joined, Side.RIGHT)}
    assert {index for index, row in in_order.items() if row.fate == "too_late"} == late
    assert {row.fate for row in explained} <= {"on_time", "too_late"}
    pairs = {(pair.left, pair.right, pair.after_event) for pair in pairs_of(joined)}
    assert {pair for index, row in in_order.items() for pair in pairs_with(index, row, rows)} == pairs
    for index, row in in_order.items():
        before = [watermark for after, watermark in scenario.watermarks if after < index]
        assert row.watermark == (table_time(before[-1]) if before else None)
        if index in late:
            assert all(partner.meeting is Meeting.TOO_LATE for partner in row.partners or ())


@pytest.mark.parametrize("scenario", [sampled(s, quick=s in SAMPLE_AS_OF[:1], id=s.id) for s in SAMPLE_AS_OF])
def test_versions_of_each_row_are_those_of_the_as_of_join(session: SparkSession, scenario: AsOfScenario) -> None:
    rows, pipeline = rows_of(scenario), joining(*scenario.sources, scenario.emit)
    stream = of_as_of_join(*inputs_of(session, rows[::-1], pipeline), pipeline, NAMES, until_us=scenario.until_us)
    explained = explain_rows(stream, [F.lit(True), F.lit(True)], len(rows) + 1, as_of=True)
    in_order = assert_places(explained, rows)
    late = {*scenario.late[Side.LEFT], *scenario.late[Side.RIGHT]}
    assert {index for index, row in in_order.items() if row.fate == "too_late"} == late
    assert {row.fate for row in explained} <= {"on_time", "too_late"}
    advances = sorted({watermark for _, watermark in scenario.versioned().watermarks if watermark < MAX})
    of_index = {own.number: (own, of_key) for of_key in keys_of(scenario).values() for own, _ in of_key}
    has_bounds = all(mark.is_bounded or mark.follows_clock for mark in stream.watermarks)
    for index, row in in_order.items():
        meetings = {partner.meeting for partner in row.partners or ()}
        counts = index not in late or meetings & {Meeting.JOINED, Meeting.WAITING}
        least = None if counts or not has_bounds else least_increase(*of_index[index], advances)
        assert increase_of(row, stream) == least
        if not meetings or meetings & {Meeting.JOINED, Meeting.WAITING}:
            continue
        if row.input == NAMES[0]:
            assert len(row.partners or ()) == 1, "it missed the newest version, and no other"
    matches = {(left, right) for left, right, _ in matches_of(scenario.versioned(), AsOf.INNER)}
    for side, name in enumerate(NAMES):
        joined = {
            (index, partner.row["index"])[:: 1 - 2 * side]
            for index, row in in_order.items()
            for partner in row.partners or ()
            if row.input == name and partner.meeting is Meeting.JOINED
        }
        assert joined == matches


def increase_of(row: ExplainedRow, stream: Stream) -> int | None:
    """Return how much greater the bounds must be, at least, as the explanation has it."""
    if row.least_bound_ms is None:
        return row.least_bound_increase_ms
    mark = stream.watermarks[0]
    return row.least_bound_ms - (mark.lag_ms if mark.follows_clock else mark.bound_ms)


def pairs_with(index: int, row: ExplainedRow, rows: list[dict[str, Any]]) -> Iterator[tuple[int, int, int]]:
    for partner in row.partners or ():
        if partner.meeting is not Meeting.JOINED:
            continue
        other = partner.row["index"]
        later = max(index, other)
        assert partner.paired_at == table_time_us(rows[later]["arrival_us"])
        yield (index, other, later) if row.input == NAMES[0] else (other, index, later)


@pytest.mark.parametrize("scenario", [sampled(s, quick=s in SAMPLE_BY_WINDOW[:1], id=s.id) for s in SAMPLE_BY_WINDOW])
def test_windows_of_each_row_are_those_of_the_co_group(session: SparkSession, scenario: CoGroupScenario) -> None:
    rows, pipeline = rows_of(scenario), joining(*scenario.sources, scenario.emit)
    stream = of_window_join(
        *inputs_of(session, rows[::-1], pipeline), pipeline, scenario.windows, NAMES, until_us=scenario.until_us
    )
    in_order = assert_places(explain_rows(stream, [F.lit(True), F.lit(True)], len(rows) + 1), rows)
    gathered = scenario.gathered()
    for index, judged in enumerate(gathered.judged):
        row = in_order[index]
        assert row.fate == (UNASSIGNED if judged.fate is None else judged.fate.value)
        assert row.watermark == (None if judged.watermark == MIN else table_time(judged.watermark))
        panes = [
            (pane.pane_index, pane.timing, pane.watermark, pane.row_count)
            for window in row.windows
            for pane in window.panes or ()
        ]
        assert sorted(panes) == sorted(groups_with(index, gathered))
        if not scenario.windows.is_session:
            starts = {micros(window.window_start) // 1000 for window in row.windows if window.panes}
            assert starts == {f.group.window.start for f in gathered.groups if index in indices(f.group)}


def groups_with(index: int, gathered: Gathered) -> Iterator[tuple[Any, ...]]:
    for fired in gathered.groups:
        if index in indices(fired.group):
            group = fired.group
            yield group.index, group.timing.value, table_time(group.watermark), len(group.left) + len(group.right)


def indices(group: Any) -> set[int]:
    return {row["index"] for row in (*group.left, *group.right)}


def assert_places(explained: list[ExplainedRow], rows: list[dict[str, Any]]) -> dict[int, ExplainedRow]:
    """Assert that each row is explained once, at its place and for its input; return the rows by their number."""
    assert [row.row["index"] for row in explained] == [row["index"] for row in rows]
    assert [row.rows_before for row in explained] == list(range(len(rows)))
    assert [row.input for row in explained] == [NAMES[row["side"] == "right"] for row in rows]
    return {row.row["index"]: row for row in explained}
