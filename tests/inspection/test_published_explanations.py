"""Explanations from the published tables agree with those from the source, and never invent what the tables lack."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.explain.explanations import Step
from spark_jobs.inspection.inspections import Basis, RowChoice, RowInspection
from spark_jobs.inspection.inspector import Inspector, KeyMisfitError
from spark_jobs.inspection.missed_page import missed_page
from spark_jobs.inspection.publication import Publication
from spark_jobs.inspection.row_filter import RowFilter
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.recorded_publication import land, publish

ROWS = history.events(500)
SHAPES: dict[str, dict[str, str]] = {
    "tumbling": {},
    "no lateness": {"windows__allowed_lateness": "0s"},
    "sliding": {"windows__kind": "sliding", "windows__slide": "4 minutes", "windows__allowed_lateness": "1 minute"},
    "with gaps": {"windows__kind": "sliding", "windows__slide": "25 minutes", "windows__allowed_lateness": "1 minute"},
    "lag": {
        "watermark": "{strategy: time_lag, lag: 1 minute, emit: {every: 30 seconds}}",
        "windows__allowed_lateness": "1 minute",
    },
    "several keys": {"windows__key": "[device, site]"},
    "no key": {"windows__key": "[]"},
    "retracting": {"windows__accumulation": "retracting"},
}


def published(tmp_path: Path, shape: str) -> tuple[Publication, Pipeline]:
    pipeline = history.pipeline(str(land(tmp_path / "rows", ROWS)), **SHAPES[shape])
    return publish(Lake(str(tmp_path / "lake"), "readings"), pipeline, ROWS), pipeline


def inspectors(publication: Publication, pipeline: Pipeline) -> tuple[Inspector, Inspector]:
    """Return inspectors by the tables alone, and by the source."""
    return (
        Inspector(publication, pipeline, shows_source=False),
        Inspector(publication, pipeline, shows_source=True),
    )


def choices(publication: Publication) -> list[RowChoice]:
    """Return the choices of the first page of late rows, as the page's links have them."""
    page = missed_page(publication, RowFilter(), None, 1, shows_source=False)
    return [
        RowChoice(
            micros(row.event_time),
            None if row.arrival_time is None else micros(row.arrival_time),
            {**row.key, **row.partition},
            row.window_start,
        )
        for row in page.rows
        if row.event_time is not None
    ]


def facts(inspected: RowInspection) -> dict[str, Any]:
    """Return what both explanations of a late row have."""
    row = inspected.row
    return {
        "fate": row.fate,
        "times": (row.event_time, row.arrival_time, row.watermark),
        "windows": [
            (w.window_start, w.window_end, w.verdict, w.rule, w.fires_at_watermark, w.closes_at_watermark)
            for w in row.windows
        ],
        "least": (row.least_bound_ms, row.least_lateness_ms),
        "settings": (inspected.bound_setting, inspected.bound_ms, inspected.lateness_ms),
        "key": dict(inspected.key),
    }


@pytest.mark.parametrize("shape", SHAPES)
def test_a_late_row_is_explained_alike_from_the_tables_and_from_the_source(tmp_path: Path, shape: str) -> None:
    publication, pipeline = published(tmp_path, shape)
    by_tables, by_source = inspectors(publication, pipeline)
    some = choices(publication)[::7]
    assert some
    for choice in some:
        from_tables, from_source = by_tables.rows(choice), by_source.rows(choice)
        assert from_source.reason == ""
        assert "TIDEMARK_PAGES_SHOW_SOURCE" in from_tables.reason
        assert {each.basis for each in from_tables.content} == {Basis.PUBLISHED}
        assert {each.basis for each in from_source.content} == {Basis.SOURCE}
        assert list(map(facts, from_tables.content)) == list(map(facts, from_source.content))
        assert all(each.row.rows_before is None and each.row.partitions is None for each in from_tables.content)


@pytest.mark.parametrize("shape", ["tumbling", "sliding", "several keys", "no key", "retracting"])
def test_the_life_of_a_window_has_the_same_panes_late_rows_and_end(tmp_path: Path, shape: str) -> None:
    publication, pipeline = published(tmp_path, shape)
    by_tables, by_source = inspectors(publication, pipeline)
    for row in reference.replay(ROWS, pipeline).window_results[::9]:
        key = {name: row[name] or "null" for name in pipeline.windows.key}
        tables, source = by_tables.window(row["window_start"], key), by_source.window(row["window_start"], key)
        assert tables.content is not None
        assert source.content is not None
        steps = [step for step in source.content.life.steps or () if step.step is not Step.ROW]
        listed = [step for step in tables.content.life.steps or () if step.step is not Step.ROW]
        assert [(step.step, step.at, step.pane) for step in listed] == [
            (step.step, step.at, step.pane) for step in steps
        ]
        # A row that another window took is too late here, and in no table.
        too_late = {step.at for step in source.content.life.steps or () if step.verdict == "too_late"}
        assert {step.at for step in tables.content.life.steps or () if step.step is Step.ROW} <= too_late
        if shape == "tumbling":
            assert tables.content.too_late == source.content.too_late == row["too_late_count"]
        assert tables.content.result == source.content.result
        assert (tables.content.result or {})["row_count"] == row["row_count"]
        assert tables.content.window_end == row["window_end"]


def test_the_firing_of_a_window_has_the_partition_that_held_it_back(tmp_path: Path) -> None:
    publication, pipeline = published(tmp_path, "tumbling")
    (first, *_) = choices(publication)
    (inspected,) = Inspector(publication, pipeline, shows_source=False).rows(first).content
    assert inspected.dates is not None
    (entry,) = (row for row in reference.replay(ROWS, pipeline).watermarks if row["window_start"] == first.window_start)
    assert (inspected.dates.fired_at, inspected.dates.closed_at) == (entry["fires_at"], entry["closes_at"])
    partitions = inspected.dates.partitions or ()
    assert [(each.source_partition, each.watermark) for each in partitions] == [
        (each["source_partition"], each["watermark"]) for each in entry["partition_watermarks"]
    ]
    assert [each.watermark for each in partitions if each.holds_back] == [entry["watermark_at_fire"]]


def test_without_the_setting_no_source_is_opened_and_no_column_of_it_is_selected(tmp_path: Path) -> None:
    publication, _ = published(tmp_path, "tumbling")
    without_table = history.pipeline(str(tmp_path / "gone"))
    choice = choices(publication)[0]
    (hidden,) = Inspector(publication, without_table, shows_source=False).rows(choice).content
    assert set(hidden.row.row) == {"device", "site"}
    (visible,) = Inspector(publication, None, shows_source=True).rows(choice).content
    assert {"id", "reading"} <= set(visible.row.row)
    assert visible.basis is Basis.PUBLISHED


def test_an_unknown_window_and_an_unknown_row_have_no_explanation(tmp_path: Path) -> None:
    publication, pipeline = published(tmp_path, "tumbling")
    for inspector in inspectors(publication, pipeline):
        assert inspector.window(history.START - timedelta(days=9), {"device": "a"}).content is None
        assert inspector.window(history.START, {"device": "no such device"}).content is None
        assert inspector.rows(RowChoice(0, 0)).content == []


def test_the_key_of_a_window_has_the_columns_of_the_run(tmp_path: Path) -> None:
    publication, pipeline = published(tmp_path, "several keys")
    for inspector in inspectors(publication, pipeline):
        for key in ({}, {"device": "a"}, {"device": "a", "site": "east", "id": "1"}):
            with pytest.raises(KeyMisfitError, match="expected device, site"):
                inspector.window(history.START, key)


def test_sessions_need_at_most_what_the_tables_show(tmp_path: Path) -> None:
    settings = {
        "windows": "{kind: session, gap: 20 seconds, key: [device], aggregates: {readings: count(*)}}",
    }
    pipeline = history.pipeline(str(land(tmp_path / "rows", ROWS)), **settings)
    publication = publish(Lake(str(tmp_path / "lake"), "readings"), pipeline, ROWS)
    by_tables, by_source = inspectors(publication, pipeline)
    for choice in choices(publication)[::5]:
        (upper,), (exact,) = by_tables.rows(choice).content, by_source.rows(choice).content
        assert upper.at_most
        assert not exact.at_most
        assert upper.row.least_lateness_ms is not None
        assert exact.row.least_lateness_ms is not None
        assert exact.row.least_lateness_ms <= upper.row.least_lateness_ms


def test_a_long_life_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_jobs.inspection import published_explanations

    monkeypatch.setattr(published_explanations, "MOST_STEPS", 3)
    publication, pipeline = published(tmp_path, "no key")
    start = reference.replay(ROWS, pipeline).window_results[1]["window_start"]
    for inspector in inspectors(publication, pipeline):
        inspected = inspector.window(start, {}).content
        assert inspected is not None
        assert inspected.is_cut
        assert len(inspected.life.steps or ()) == 3
