"""The audit requires the columns that invariants use, whatever else a staged table has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from expectations.errors import AuditError
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from spark_jobs.pipeline import published_tables
from spark_jobs.pipeline.model import Accumulation, Aggregate, AsOf, Join, Mode, Pipeline, Source, TimeField, Windows

SOURCE = Source("flights", TimeField("departed_at"), TimeField("landed_at"))
WINDOWS = Windows(3_600_000, key=("carrier",), aggregates=(Aggregate("flights", "count(*)"),))
RESULTS = Pipeline("departures", SOURCE, WINDOWS)
RETRACTING = replace(RESULTS, windows=replace(WINDOWS, accumulation=Accumulation.RETRACTING))
COMPLETE = replace(RESULTS, replay=replace(RESULTS.replay, mode=Mode.COMPLETE))
JOINED = Join(("orders", "payments"), (("id",), ("order_id",)), second_when="is_payment")
WINDOW_JOIN = Pipeline("paid", SOURCE, Windows(60_000), join=JOINED)
INTERVAL_JOIN = replace(WINDOW_JOIN, join=replace(JOINED, lower_ms=0, upper_ms=1000))
AS_OF_JOIN = replace(WINDOW_JOIN, join=replace(JOINED, as_of=AsOf.INNER))

DECLARED = {column.name for table in published_tables.ALL for column in table.own_columns}
PANES = "carrier window_start window_end pane_index timing fired_at watermark flights row_count run_id"
RESULT = "carrier window_start window_end flights pane_count row_count too_late_count last_fired_at run_id"
CALENDAR = "window_start window_end fires_at watermark_at_fire closes_at partition_watermarks run_id"
LATE = "event_time arrival_time watermark late_by_ms"
COMPLETE_RESULT = "carrier window_start window_end row_count missed_rows is_shown faithful"
PAIRS = "orders payments fired_at"


@dataclass(frozen=True)
class Columns:
    """The columns of a staged table, which is all of it that is checked."""

    columns: list[str]


def required(pipeline: Pipeline, table: str) -> str:
    """Return the columns that the audit of `pipeline` requires of `table`, sorted."""
    whole: Any = Columns([*DECLARED, "carrier", "flights", "orders", "payments"])
    lacking: Any = Columns([])
    tables = {**dict.fromkeys(published_tables.BY_NAME, whole), table: lacking}
    with pytest.raises(AuditError) as refused:
        (Staged if pipeline.join is None else StagedJoin)(tables, pipeline, {})
    start, end = f"the staged table {table} has no column ", "; stage the run again"
    return in_order(str(refused.value).removeprefix(start).removesuffix(end).replace(",", ""))


def in_order(names: str) -> str:
    return " ".join(sorted(names.split()))


@pytest.mark.parametrize(
    ("pipeline", "table", "columns"),
    [
        (RESULTS, "watermarks", CALENDAR),
        (RESULTS, "panes", PANES),
        (RETRACTING, "panes", f"{PANES} is_retraction"),
        (RESULTS, "window_results", RESULT),
        (RESULTS, "late_events", f"carrier {LATE} window_start window_end run_id"),
        (RESULTS, "invalid_events", "reason run_id"),
        (COMPLETE, "complete_results", COMPLETE_RESULT),
        (WINDOW_JOIN, "pairs", f"{PAIRS} window_start window_end pane_index timing watermark"),
        (INTERVAL_JOIN, "pairs", f"{PAIRS} event_time"),
        (AS_OF_JOIN, "pairs", f"{PAIRS} event_time"),
        (AS_OF_JOIN, "late_events", f"source {LATE} verdict"),
        (WINDOW_JOIN, "late_events", f"source {LATE} window_start window_end"),
        (INTERVAL_JOIN, "late_events", f"source {LATE}"),
        (INTERVAL_JOIN, "invalid_events", "source reason"),
    ],
)
def test_the_audit_requires_these_columns(pipeline: Pipeline, table: str, columns: str) -> None:
    assert required(pipeline, table) == in_order(columns)
