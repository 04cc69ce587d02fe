"""A page of late or invalid rows counts, groups and lists the rows of the published table that a filter chooses."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.inspection import lateness_ranges, missed_page
from spark_jobs.inspection.missed_page import Grouping, MissedPage, TooManyRowsError
from spark_jobs.inspection.publication import NoPublicationError, Publication
from spark_jobs.inspection.row_filter import RowFilter, RowKind
from spark_jobs.semantics import reference
from spark_jobs.tables.delta_rs import Table
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.recorded_publication import land, publish

ROWS = history.events(900)
SETTINGS = {"windows__allowed_lateness": "0s"}


@pytest.fixture(name="publication", scope="module")
def _publication(tmp_path_factory: pytest.TempPathFactory) -> Publication:
    root = tmp_path_factory.mktemp("missed")
    pipeline = history.pipeline(str(land(root / "rows", ROWS)), **SETTINGS)
    return publish(Lake(str(root / "lake"), "readings"), pipeline, ROWS)


def page_of(
    publication: Publication,
    by: Grouping | None = None,
    number: int = 1,
    *,
    shows_source: bool = False,
    **chosen: Any,
) -> MissedPage:
    return missed_page.missed_page(publication, RowFilter(**chosen), by, number, shows_source=shows_source)


def too_late(lateness: str = "0s") -> list[dict[str, Any]]:
    pipeline = history.pipeline("rows", windows__allowed_lateness=lateness)
    return reference.replay(ROWS, pipeline).late_events


def test_groups_count_the_rows_of_the_table(publication: Publication) -> None:
    expected = too_late()
    for by, names in (
        (Grouping.PARTITION, ["site"]),
        (Grouping.KEY, ["device"]),
        (Grouping.WINDOW, ["window_start", "window_end"]),
    ):
        page = page_of(publication, by)
        counted = Counter(tuple(row[name] for name in names) for row in expected)
        assert (page.rows_in_all, page.groups_in_all) == (len(expected), len(counted))
        assert [group.rows for group in page.groups] == sorted(counted.values(), reverse=True)[: missed_page.GROUPS]
        if by is not Grouping.WINDOW:
            texts = {tuple(group.values.values()): group.rows for group in page.groups}
            assert texts == {tuple(value or "null" for value in key): rows for key, rows in counted.items()}


def test_a_group_chooses_its_rows_again(publication: Publication) -> None:
    for by in (Grouping.PARTITION, Grouping.KEY):
        for group in page_of(publication, by).groups:
            assert page_of(publication, values=group.values).rows_in_all == group.rows
    for group in page_of(publication, Grouping.LATENESS).groups:
        assert page_of(publication, lateness=group.values["lateness"]).rows_in_all == group.rows


def test_the_lateness_for_all_is_the_least_that_takes_every_row(publication: Publication) -> None:
    total = page_of(publication).total
    assert total is not None
    assert total.lateness_for_all_ms is not None
    assert too_late(f"{total.lateness_for_all_ms} ms") == []
    assert too_late(f"{total.lateness_for_all_ms - 1} ms") != []


def test_rows_come_by_lateness_and_pages_do_not_overlap(publication: Publication, monkeypatch: Any) -> None:
    monkeypatch.setattr(missed_page, "ROWS", 7)
    expected = sorted((row["late_by_ms"] for row in too_late()), reverse=True)
    pages = [page_of(publication, number=number).rows for number in range(1, -(-len(expected) // 7) + 1)]
    listed = [row for rows in pages for row in rows]
    assert [row.values["late_by_ms"] for row in listed] == expected
    assert len({(row.event_time, row.arrival_time) for row in listed}) == len(expected)
    assert page_of(publication, number=len(pages) + 1).rows == []


def test_a_window_is_a_filter_and_opens_few_files(publication: Publication) -> None:
    start = too_late()[0]["window_start"]
    page = page_of(publication, window_start=start)
    assert page.rows_in_all == sum(row["window_start"] == start for row in too_late())
    assert {row.window_start for row in page.rows} == {start}
    assert page_of(publication, window_start=start + timedelta(days=400)).rows_in_all == 0


def test_columns_of_the_source_are_hidden_unless_they_are_allowed(publication: Publication) -> None:
    narrow, wide = page_of(publication), page_of(publication, shows_source=True)
    assert {"id", "reading", "happened_at", "stored_at"} & set(narrow.columns) == set()
    assert {"device", "site", "event_time", "watermark", "late_by_ms"} <= set(narrow.columns)
    assert {"id", "reading"} <= set(wide.columns)
    assert (narrow.hidden, wide.hidden) == (4, 0)
    assert all(set(row.values) == set(narrow.columns) for row in narrow.rows)


def test_hidden_columns_are_not_read(publication: Publication, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[str] = []
    select = Table.select

    def recording_select(table: Table, query: str) -> list[dict[str, Any]]:
        queries.append(query)
        return select(table, query)

    monkeypatch.setattr(Table, "select", recording_select)
    page_of(publication, Grouping.KEY)
    assert len(queries) == 3
    assert not any(name in query for query in queries for name in ('"id"', '"reading"', "SELECT * FROM t"))


def test_invalid_rows_have_reasons(publication: Publication) -> None:
    expected = Counter(
        row["reason"] for row in reference.replay(ROWS, history.pipeline("rows", **SETTINGS)).invalid_events
    )
    page = page_of(publication, Grouping.REASON, kind=RowKind.INVALID)
    assert {group.values["reason"]: group.rows for group in page.groups} == expected
    missing = page_of(publication, kind=RowKind.INVALID, reason="event_time_missing")
    assert (missing.rows_in_all, missing.rows[0].values["reason"]) == (1, "event_time_missing")
    assert set(missing.columns) == {"device", "site", "reason", "run_id"}
    assert Grouping.WINDOW not in page.groupings


@pytest.mark.parametrize("text", ["x' OR TRUE OR 'a' = '", "' ; DROP TABLE t; --", '"', "\\", "null'"])
def test_a_filter_is_text_and_never_sql(publication: Publication, text: str) -> None:
    assert page_of(publication, values={"device": text}).rows_in_all == 0
    assert page_of(publication, lateness=text).rows_in_all == len(too_late())
    assert page_of(publication, kind=RowKind.INVALID, reason=text).rows_in_all == 0
    # A column that the table lacks filters nothing.
    assert page_of(publication, values={f"device {text}": "a"}).rows_in_all == len(too_late())


def test_null_has_a_text(publication: Publication) -> None:
    expected = sum(row["device"] is None for row in too_late())
    page = page_of(publication, values={"device": "null"})
    assert page.rows_in_all == expected > 0
    assert {row.key["device"] for row in page.rows} == {"null"}


def test_a_large_table_is_read_by_window_alone(publication: Publication, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missed_page, "MOST_ROWS", len(too_late()) - 1)
    with pytest.raises(TooManyRowsError, match=rf"has {len(too_late())} rows to read, and a page reads at most"):
        page_of(publication)
    # Its rows lie in one file, which is too large for a page as well.
    with pytest.raises(TooManyRowsError, match="Name a window"):
        page_of(publication, window_start=too_late()[0]["window_start"])
    assert page_of(publication, window_start=history.START - timedelta(days=9)).rows_in_all == 0


def test_a_run_without_the_table_has_another_error_than_a_lake_that_lost_it(
    publication: Publication, tmp_path: Path
) -> None:
    plan, *_ = publication.run.steps
    with pytest.raises(NoPublicationError, match="has published no table late_events"):
        page_of(replace(publication, run=replace(publication.run, steps=(plan,))))
    with pytest.raises(LakeError, match="late_events cannot be read at version 0"):
        page_of(replace(publication, lake=Lake(str(tmp_path), "readings")))


def test_ranges_of_lateness_meet_without_gap() -> None:
    assert lateness_ranges.RANGES[0].start_ms is None
    assert lateness_ranges.RANGES[-1].end_ms is None
    for earlier, later in zip(lateness_ranges.RANGES, lateness_ranges.RANGES[1:], strict=False):
        assert earlier.end_ms == later.start_ms
    assert lateness_ranges.find("below 1 hour") is not None
    assert lateness_ranges.find("below 1 hour' OR TRUE") is None
