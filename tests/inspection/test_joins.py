"""Late rows of joins are listed and explained by their table; a window of a join has no page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.inspection.inspections import RowChoice
from spark_jobs.inspection.inspector import Inspector
from spark_jobs.inspection.missed_page import Grouping, missed_page
from spark_jobs.inspection.publication import NoPublicationError, Publication
from spark_jobs.inspection.row_filter import RowFilter
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import FULL, Run, Step

AT = datetime(2024, 5, 1, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ONE_SOURCE = {
    "join.names": "orders, payments",
    "join.lower": "-5 minutes",
    "join.upper": "5 minutes",
    "windows.kind": "none",
    "windows.key": "none",
    "windows.late_data": "side_output",
    "windows.allowed_lateness": "0s",
    "watermark.strategy": "bounded_out_of_orderness",
    "watermark.out_of_orderness": "1 minute",
    "sources": "none",
}
BOUNDED = '{"watermark": {"strategy": "bounded_out_of_orderness"}}'
CUSTOM = '{"watermark": {"strategy": "custom"}}'


def publication(root: Path, settings: Mapping[str, str], more: Mapping[str, Any] | None = None) -> Publication:
    """Publish late rows of a join: one of each input, and `more` columns."""
    rows = [
        {
            "source": name,
            "order_id": number,
            "event_time": AT + number * MINUTE,
            "arrival_time": AT + 20 * MINUTE,
            "watermark": AT + 15 * MINUTE,
            "late_by_ms": (15 - number) * 60_000,
            **(more or {}),
            "run_id": "r0123456789abcde",
        }
        for number, name in enumerate(("orders", "payments"))
    ]
    lake = Lake(str(root), "paid")
    write_deltalake(lake.path("late_events"), pa.Table.from_pylist(rows))
    step = Step("publish", "done", AT, AT, versions={"late_events": 0, "pairs": 0})
    return Publication(lake, Run("r0123456789abcde", "paid", "f", FULL, 0, None, None, (step,), settings=settings))


def choice(number: int) -> RowChoice:
    return RowChoice(micros(AT + number * MINUTE), micros(AT + 20 * MINUTE))


def test_late_rows_are_grouped_by_input(tmp_path: Path) -> None:
    page = missed_page(publication(tmp_path, ONE_SOURCE), RowFilter(), Grouping.PARTITION, 1, shows_source=False)
    assert {group.values["source"]: group.rows for group in page.groups} == {"orders": 1, "payments": 1}
    assert (page.hidden, [row.partition for row in page.rows]) == (1, [{"source": "orders"}, {"source": "payments"}])
    assert page.total is not None
    assert page.total.lateness_for_all_ms is None


@pytest.mark.parametrize(
    ("sources", "bound_ms", "increase_ms"),
    [
        ("none", 15 * 60_000, None),
        (f"[{BOUNDED}, {BOUNDED}]", None, 14 * 60_000),
        (f"[{BOUNDED}, {CUSTOM}]", None, None),
        ("no json", None, None),
    ],
)
def test_the_least_bound_of_an_interval_is_greater_by_the_lateness(
    tmp_path: Path, sources: str, bound_ms: int | None, increase_ms: int | None
) -> None:
    settings = {**ONE_SOURCE, "sources": sources}
    inspector = Inspector(publication(tmp_path, settings), None, shows_source=False)
    (inspected,) = inspector.rows(choice(1)).content
    row = inspected.row
    assert (row.input, row.fate, row.windows) == ("payments", "too_late", [])
    assert (row.least_bound_ms, row.least_bound_increase_ms, row.least_lateness_ms) == (bound_ms, increase_ms, None)


def test_a_window_of_a_join_has_no_explanation(tmp_path: Path) -> None:
    settings = {**ONE_SOURCE, "join.lower": "not set", "join.upper": "not set", "windows.kind": "tumbling"}
    bounds = {"window_start": AT, "window_end": AT + 10 * MINUTE}
    inspector = Inspector(publication(tmp_path, settings, bounds), None, shows_source=True)
    (inspected,) = inspector.rows(choice(1)).content
    assert [(window.window_start, window.rule) for window in inspected.row.windows] == [(AT, 51)]
    assert inspected.row.least_lateness_ms == 5 * 60_000 + 2
    assert inspected.row.row == {"order_id": 1}
    with pytest.raises(NoPublicationError, match="has published no table panes"):
        inspector.window(AT, {})
