"""Rows become events: those of a commit without Delta's columns, those of several sources by each source's reader."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.pipeline.model import Order, Pipeline, SourcePartition, UnitedSource, Watermark
from spark_jobs.semantics.rows.arrival_order import COMMIT_TIMESTAMP, COMMIT_VERSION
from spark_jobs.semantics.rows.events import Event, event_reader
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.semantics.rows.partition_labels import label
from tests.support.rows_by_hand import Change, at, row


def committed(version: int | None, seconds: float | None) -> dict[str, Any]:
    return {**row(1, 2), COMMIT_VERSION: version, COMMIT_TIMESTAMP: None if seconds is None else at(seconds)}


def test_a_committed_row_is_placed_by_its_commit_and_shown_without_it(changed: Change) -> None:
    reader = event_reader(changed(replay={"order": Order.COMMIT}))
    event = reader.read(committed(7, 30))
    assert isinstance(event, Event)
    assert (event.row, event.clock_us) == (row(1, 2), micros(at(30)))
    assert event.position[:3] == (micros(at(30)), 7, micros(at(2)))
    assert reader.columns(committed(7, 30)) == row(1, 2)


@pytest.mark.parametrize(("version", "seconds"), [(None, 30), (7, None), (None, None)])
def test_a_row_without_its_commit_is_refused(changed: Change, version: int | None, seconds: float | None) -> None:
    with pytest.raises(ValueError, match="found a row without _commit_version and _commit_timestamp"):
        event_reader(changed(replay={"order": Order.COMMIT})).read(committed(version, seconds))


@pytest.fixture(name="united")
def _united(pipeline: Pipeline) -> Pipeline:
    sited = replace(pipeline.source, source_partition=SourcePartition(("site",)))
    sources = (UnitedSource("web", pipeline.source, Watermark()), UnitedSource("phones", sited, Watermark()))
    return replace(pipeline, sources=sources)


def test_rows_of_several_sources_are_read_by_the_reader_of_their_source(united: Pipeline) -> None:
    reader = event_reader(united)
    web, phones = (reader.read(row(1, 2, site="x", source=name)) for name in ("web", "phones"))
    assert isinstance(web, Event)
    assert isinstance(phones, Event)
    assert (web.source, web.partition, web.position[:2]) == ("web", "web", (micros(at(1)), 0))
    assert (phones.source, phones.partition, phones.position[:2]) == (
        "phones",
        label(("phones", "x")),
        (micros(at(1)), 1),
    )
    assert web.position < phones.position
    assert reader.read(row(None, 2, site="x", source="web")) == "arrival_time_missing"


def test_a_row_of_no_source_is_refused(united: Pipeline) -> None:
    with pytest.raises(ValueError, match="found a row of the source 'shop', the pipeline has web, phones"):
        event_reader(united).read(row(1, 2, source="shop"))
