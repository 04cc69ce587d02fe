"""An explanation states what is so under the settings, names what a pipeline file can change, and its JSON is JSON."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import nan
from typing import Any

import pytest

from spark_jobs.cli import print_explanation
from spark_jobs.explain.explanations import ExplainedRow, Meeting
from spark_jobs.explain.words import MEETINGS_AS_OF
from spark_jobs.inspection.bounded_source import Deadline
from spark_jobs.inspection.replayed_explanations import ReplayedSource
from spark_jobs.inspection.row_choices import has_value
from spark_jobs.jobs.explain.explain import Explanation, Request
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables.repaired_windows import RepairedWindows
from spark_jobs.tables.run import REPAIR, Run
from tests.inspection.test_holding_partitions import CASES, pipeline_of, rows_of
from tests.support import history

# The row of minute 5 comes when the watermark is past 60.
ROWS = rows_of([("north", 1, 1), ("north", 60, 60), ("north", 5, 61)])


def explained(pipeline: Pipeline, rows: list[dict[str, Any]], number: int, **more: Any) -> ExplainedRow:
    source = ReplayedSource(pipeline, rows, Deadline.within(60), **more)
    (row,) = source.rows(has_value("id", str(number)), 9)
    return row


def explanation(*rows: ExplainedRow) -> Explanation:
    return Explanation("readings", {"": 0}, None, None, [rows], None)


def printed(capsys: pytest.CaptureFixture[str], pipeline: Pipeline, row: ExplainedRow) -> str:
    print_explanation.show(pipeline, Request(["id = 2"]), explanation(row), [])
    return " ".join(capsys.readouterr().out.split())


def late(capsys: pytest.CaptureFixture[str], **settings: str) -> str:
    pipeline = history.pipeline("rows", windows__allowed_lateness="0s", **settings)
    return printed(capsys, pipeline, explained(pipeline, ROWS, 2))


def test_a_dropped_row_is_in_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert "too late: no window took it, late_events has it" in late(capsys)
    dropped = late(capsys, windows__late_data="drop")
    assert "too late: no window took it, and windows.late_data drop does not keep it" in dropped
    assert "late_events" not in dropped


def test_a_strategy_without_a_bound_is_to_be_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "counted with watermark.out_of_orderness 50 minutes 1 ms (now 10 seconds)" in late(capsys)
    mark = "{strategy: monotonous, emit: {every: 30 seconds}}"
    monotonous = late(capsys, watermark=mark)
    setting = "watermark.strategy bounded_out_of_orderness and watermark.out_of_orderness"
    assert f"counted with {setting} 50 minutes 1 ms (now monotonous)" in monotonous


def test_a_row_without_a_window_has_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    gaps = {"windows__kind": "sliding", "windows__slide": "20 minutes"}
    pipeline = history.pipeline("rows", **gaps, windows__allowed_lateness="0s")
    between = rows_of([("north", 15, 1)])
    assert "lies between two windows (rule 53)" in printed(capsys, pipeline, explained(pipeline, between, 0))
    behind = rows_of([("north", 60, 60), ("north", 15, 61)])
    assert "late_events has it (rule 53)" in printed(capsys, pipeline, explained(pipeline, behind, 1))


def test_a_late_row_under_a_trigger_by_count_promises_no_pane(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of([("north", 1, 1), ("north", 12, 12), ("north", 5, 13)])
    for trigger, rule in (("{count: 5}", 70), ("event_time", 64)):
        pipeline = history.pipeline("rows", windows__trigger=trigger)
        assert f": late (rule {rule})" in printed(capsys, pipeline, explained(pipeline, rows, 2))


def test_idle_partitions_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    moments, idle_timeout, _ = CASES["one falls idle"]
    pipeline = pipeline_of("rows", idle_timeout)
    text = printed(capsys, pipeline, explained(pipeline, rows_of(moments), len(moments) - 1))
    assert "south: 2024-03-30 21:59:59.999 idle" in text
    assert "holds the others back" not in text


def test_a_repaired_window_has_its_repair(capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = history.pipeline("rows", windows__allowed_lateness="0s")
    end = history.START + timedelta(minutes=10)
    repaired = RepairedWindows((Run("r1", "readings", "f", REPAIR, 0, history.START, end),))
    text = printed(capsys, pipeline, explained(pipeline, ROWS, 2, repaired=repaired))
    assert "late, within the allowed lateness" in text
    assert "a repair has computed this window again, with all of its late rows" in text


def test_values_that_look_alike_differ_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = history.pipeline("rows")
    odd = replace(explained(pipeline, ROWS, 0), row={"reading": nan, "site": "", "device": None, "parts": {"x": None}})
    assert "reading = NaN, site = '', device = null, parts = {\"x\": null}" in printed(capsys, pipeline, odd)


def test_each_meeting_has_words() -> None:
    assert set(MEETINGS_AS_OF) == set(Meeting)
