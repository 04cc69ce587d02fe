"""Runs over changes of the source: random edits, after each of which the tables are those of a full replay.

The windows that runs compute are counted beside those that differ: `--junitxml=FILE -o junit_family=xunit1` has both.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.dry_run import foreseen
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.replay.continuation import affected_windows
from spark_jobs.replay.ground import Ground
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import ARRIVALS, BACKFILL, CHANGED, FULL, REPAIR, Run
from tests.sampling import sampled
from tests.support import history
from tests.support.arrivals import replay_until
from tests.support.edited_source import EditedSource
from tests.support.slicing_streams import drawn_rows, drawn_settings
from tests.support.trigger_pipelines import CONTINUOUS, COUNT
from tests.support.whole_run import assert_equal, assert_published, published, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

EDITS = 5
OTHER_WATERMARKS = [
    {"watermark__emit": "per_event"},
    {"watermark": "{strategy: punctuated, when: reading > 30, emit: {every: 30 s}}"},
    {"watermark": "{strategy: time_lag, lag: 20 s, emit: {every: 1 minute}}"},
    {"watermark": "{strategy: none}"},
    {"watermark": "{out_of_orderness: 10 s, emit: {every_n: 20}}"},
]
# Chains whose pipeline follows from their number: the drawn ones, then one for each further setting.
CHAINS = [sampled(number, quick=False) for number in range(60)]


@pytest.fixture(name="source")
def _source(spark: SparkSession, tmp_path: Path) -> EditedSource:
    """A small history, landed in three commits."""
    source = EditedSource(spark, tmp_path / "rows", history.events(600))
    source.land()
    return source


def drawn_pipeline(draw: random.Random, number: int, table: str) -> Pipeline:
    settings = drawn_settings(draw)
    if number % 3 == 1:
        for name in [name for name in settings if name.startswith("watermark")]:
            del settings[name]
        settings |= OTHER_WATERMARKS[number // 3 % len(OTHER_WATERMARKS)]
    if number % 5 == 2 and "windows__gap" not in settings:
        settings |= CONTINUOUS if number % 2 else COUNT
        settings.pop("windows__late_panes", None)
    if number % 7 == 3:
        settings["replay__mode"] = "complete"
    # An edit may move the watermark so far that most rows are too late, or all.
    return history.pipeline(table, quality__max_removed_ratio="none", quality__min_windows="none", **settings)


def windows_of(tables: dict[str, list[Any]]) -> dict[Any, list[str]]:
    """Return the rows of all tables by the start of their window."""
    by_window: dict[Any, list[str]] = {}
    for name, rows in tables.items():
        for row in map(dict, rows):
            by_window.setdefault(row.get("window_start"), []).append(f"{name} {row}")
    return by_window


def differing(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> int:
    """Return how many windows have other rows."""
    old, new = windows_of(before), windows_of(after)
    return sum(sorted(old.get(start, [])) != sorted(new.get(start, [])) for start in {*old, *new} if start)


@pytest.mark.parametrize("number", CHAINS)
def test_after_any_edit_the_tables_are_those_of_a_full_replay(
    spark: SparkSession, tmp_path: Path, lake: Lake, number: int, record_property: Callable[[str, object], None]
) -> None:
    draw = random.Random(number)
    source = EditedSource(spark, tmp_path / "rows", drawn_rows(draw))
    source.land()
    if draw.random() < 0.4:
        source.mark_deleted_rows()
    pipeline = drawn_pipeline(draw, number, str(source.path))
    # With arrivals, runs go on by themselves from where the last run ended.
    stored = sorted(row["stored_at"] for row in source.rows if row["stored_at"])
    until = stored[len(stored) // 2] if draw.random() < 0.5 else None
    run_steps(spark, pipeline, lake, arrived_to=until)
    computed = differ = 0
    after, run = published(spark, lake), ledger.published(spark, lake)[-1]
    for edit in range(EDITS):
        kind = source.draw_edit(draw)
        before, last = after, run
        later = timedelta(seconds=draw.choice([0, 0, 45, 900, 4000]))
        until = None if until is None else until + later
        # Without the option, a run over arrivals that are covered already is the published run.
        run_steps(spark, pipeline, lake, arrived_to=until, changed=until is None or not later or draw.random() < 0.7)
        after, run = published(spark, lake), ledger.published(spark, lake)[-1]
        assert_equal(after, expected(source.rows, pipeline, until), (edit, kind))
        if run.run_id == last.run_id:
            assert after == before
        elif run.kind == CHANGED:
            # Of sessions, components are counted, and a component may have several.
            assert pipeline.windows.is_session or run.counts["affected_windows"] >= differing(before, after)
            computed += run.counts["affected_windows"]
            differ += differing(before, after)
        elif until is None:
            assert affected_windows.obstacle(pipeline) is not None
    record_property("windows_computed", computed)
    record_property("windows_differing", differ)


def expected(rows: list[dict[str, Any]], pipeline: Pipeline, until: datetime | None) -> reference.Replay:
    return reference.replay(rows, pipeline) if until is None else replay_until(rows, pipeline, until)


def run(spark: SparkSession, pipeline: Pipeline, lake: Lake, *, changed: bool = True) -> Run:
    """Return the run that is published last, after all steps of a run over changes."""
    run_steps(spark, pipeline, lake, changed=changed)
    return ledger.published(spark, lake)[-1]


def row_of(source: EditedSource, id: int, **values: Any) -> dict[str, Any]:  # noqa: A002  the column's name
    return {**next(row for row in source.rows if row["id"] == id), **values}


def test_only_the_windows_of_a_mended_row_are_computed(spark: SparkSession, source: EditedSource, lake: Lake) -> None:
    pipeline = history.pipeline(str(source.path))
    first = run(spark, pipeline, lake)
    assert first.kind == FULL
    assert run(spark, pipeline, lake).run_id == first.run_id
    source.compact()
    assert run(spark, pipeline, lake).run_id == first.run_id
    source.update([row_of(source, 100, reading=12.25), row_of(source, 500, reading=1.5)])
    before = published(spark, lake)
    second = run(spark, pipeline, lake)
    assert_published(spark, lake, reference.replay(source.rows, pipeline))
    assert (second.kind, second.changes_run) == (CHANGED, first.run_id)
    assert second.counts["changed_rows"] == 4
    assert second.counts["affected_windows"] == differing(before, published(spark, lake)) == 2
    assert len(second.stretches) == 2
    # Each of both windows has the rows of ten minutes, one in five seconds.
    assert second.counts["rows_read"] <= 2 * 120
    assert run(spark, pipeline, lake).run_id == second.run_id


@pytest.mark.soak
def test_windows_that_a_watermark_alone_changes_are_computed(
    spark: SparkSession, source: EditedSource, lake: Lake
) -> None:
    pipeline = history.pipeline(str(source.path), watermark__placement="source", quality__max_removed_ratio="1")
    run(spark, pipeline, lake)
    ahead = row_of(source, 200)
    source.update([{**ahead, "happened_at": ahead["stored_at"] + timedelta(hours=1), "site": "north"}])
    source.update([row_of(source, row["id"], site="north") for row in source.rows if row["site"] != "north"])
    before = published(spark, lake)
    second = run(spark, pipeline, lake)
    assert second.kind == CHANGED
    assert_published(spark, lake, reference.replay(source.rows, pipeline))
    assert second.counts["affected_windows"] >= differing(before, published(spark, lake)) > 3


@pytest.mark.soak
def test_rows_without_a_usable_time_come_and_go(spark: SparkSession, source: EditedSource, lake: Lake) -> None:
    pipeline = history.pipeline(str(source.path))
    run(spark, pipeline, lake)
    source.update([row_of(source, 150, happened_at=None)])
    second = run(spark, pipeline, lake)
    assert second.counts["changed_invalid"] == 1
    assert_published(spark, lake, reference.replay(source.rows, pipeline))
    source.delete({10})
    assert run(spark, pipeline, lake).kind == CHANGED
    assert_published(spark, lake, reference.replay(source.rows, pipeline))


@pytest.mark.soak
def test_an_increment_over_a_mended_past_computes_changes_alone(
    spark: SparkSession, source: EditedSource, lake: Lake
) -> None:
    pipeline = history.pipeline(str(source.path), quality__max_too_late_ratio="1")
    cuts = [history.START + timedelta(minutes=minutes) for minutes in (20, 30, 40)]
    run_steps(spark, pipeline, lake, arrived_to=cuts[0])
    source.update([row_of(source, 60, reading=7.75)])
    run_steps(spark, pipeline, lake, arrived_to=cuts[1])
    second = ledger.published(spark, lake)[-1]
    assert (second.kind, second.arrived_to) == (CHANGED, cuts[1])
    assert_published(spark, lake, replay_until(source.rows, pipeline, cuts[1]))
    run_steps(spark, pipeline, lake, arrived_to=cuts[2])
    third = ledger.published(spark, lake)[-1]
    assert (third.kind, third.arrived_from) == (ARRIVALS, cuts[1])
    assert_published(spark, lake, replay_until(source.rows, pipeline, cuts[2]))


@pytest.mark.soak
@pytest.mark.parametrize("emit", ["{every: 1 minute}", "{every_n: 20}"])
def test_new_rows_without_an_arrival_time_belong_to_covered_arrivals(
    spark: SparkSession, source: EditedSource, lake: Lake, emit: str
) -> None:
    settings = {"watermark": f"{{out_of_orderness: 10 s, emit: {emit}}}", "quality__max_too_late_ratio": "1"}
    pipeline, until = history.pipeline(str(source.path), **settings), history.START + timedelta(minutes=20)
    run_steps(spark, pipeline, lake, arrived_to=until)
    source.append([{**row_of(source, 60), "id": 9_000, "stored_at": None}])
    run_steps(spark, pipeline, lake, arrived_to=until, changed=True)
    assert_published(spark, lake, replay_until(source.rows, pipeline, until))
    last = ledger.published(spark, lake)[-1]
    source.compact()
    is_read_anew = affected_windows.obstacle(pipeline) is not None
    assert (run(spark, pipeline, lake).run_id != last.run_id) == is_read_anew


@pytest.mark.soak
def test_parts_of_time_of_other_inputs_are_computed_too(spark: SparkSession, source: EditedSource, lake: Lake) -> None:
    pipeline = history.pipeline(str(source.path))
    run(spark, pipeline, lake)
    added = {**row_of(source, 100), "id": 9_000}
    source.append([added])
    part = Interval(history.START - timedelta(hours=1), history.START + timedelta(hours=1))
    run_steps(spark, pipeline, lake, part)
    assert ledger.published(spark, lake)[-1].kind == BACKFILL
    source.delete({9_000})
    last = run(spark, pipeline, lake)
    assert (last.kind, last.counts["changed_rows"]) == (CHANGED, 0)
    assert_published(spark, lake, reference.replay(source.rows, pipeline))


@pytest.mark.soak
def test_a_repair_stays_until_the_source_changes(spark: SparkSession, source: EditedSource, lake: Lake) -> None:
    pipeline = history.pipeline(str(source.path))
    run(spark, pipeline, lake)
    start = history.START
    Runner(spark, pipeline, lake).run(
        Interval(start, start + timedelta(minutes=10)), repair={"repaired_windows": 1, "repaired_rows": 1}
    )
    repaired = ledger.published(spark, lake)[-1]
    assert repaired.kind == REPAIR
    assert run(spark, pipeline, lake).run_id == repaired.run_id
    source.update([row_of(source, 500, reading=2.5)])
    assert run(spark, pipeline, lake).kind == CHANGED
    assert_published(spark, lake, reference.replay(source.rows, pipeline))


def test_a_dry_run_counts_and_writes_nothing(
    spark: SparkSession, source: EditedSource, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = history.pipeline(str(source.path))
    run(spark, pipeline, lake)
    source.update([row_of(source, 100, reading=12.25)])
    before = sorted(entry.name for entry in lake.objects.below())
    # It begins with the census that the published run has kept.
    monkeypatch.setattr(Ground, "_groups", lambda _: pytest.fail("all rows were counted again"))
    planned = foreseen(spark, pipeline, lake, Interval(), changed=True)
    assert sorted(entry.name for entry in lake.objects.below()) == before
    assert planned["kind"] == CHANGED
    assert (planned["changed_rows"], planned["affected_windows"]) == (2, 1)
    assert planned["first_window"] == planned["last_window"] == planned["interval_start"]
    assert planned["note"] == "rows added or taken away: 2; windows affected: 1"


def test_changes_contradict_a_range(spark: SparkSession, source: EditedSource, lake: Lake) -> None:
    with pytest.raises(InputError, match="--changed: cannot be combined with --from or --to"):
        run_steps(spark, history.pipeline(str(source.path)), lake, Interval(history.START, None), changed=True)


@pytest.mark.soak
def test_a_plan_that_another_run_has_overtaken_is_refused(
    spark: SparkSession, source: EditedSource, lake: Lake
) -> None:
    pipeline = history.pipeline(str(source.path))
    run(spark, pipeline, lake)
    source.update([row_of(source, 100, reading=12.25)])
    runner = Runner(spark, pipeline, lake)
    planned, _ = runner.plan(Interval(), changed=True)
    part = Interval(history.START, history.START + timedelta(hours=1))
    run_steps(spark, pipeline, lake, part)
    for step in ("replay", "audit"):
        runner.step(step, runner.find(planned.run.run_id))
    with pytest.raises(InputError, match="plan again"):
        runner.step("publish", runner.find(planned.run.run_id))


@pytest.mark.soak
def test_changes_whose_files_are_deleted_are_read_anew(spark: SparkSession, source: EditedSource, lake: Lake) -> None:
    pipeline = history.pipeline(str(source.path))
    run(spark, pipeline, lake)
    source.update([row_of(source, 100, reading=12.25)])
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM delta.`{source.path}` RETAIN 0 HOURS")
    spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    planned, outcome = Runner(spark, pipeline, lake).plan(Interval(), changed=True)
    assert planned.run.kind == FULL
    assert "everything is read again: files of the version that was read before are deleted" in outcome.message
    assert run(spark, pipeline, lake).kind == FULL
    assert_published(spark, lake, reference.replay(source.rows, pipeline))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(6))
def test_edits_of_several_sources(spark: SparkSession, tmp_path: Path, lake: Lake, number: int) -> None:
    draw = random.Random(f"united {number}")
    rows = drawn_rows(draw)
    sources = [
        EditedSource(spark, tmp_path / name, [row for row in rows if (row["id"] % 3 == 0) == is_coast])
        for name, is_coast in (("inland", False), ("coast", True))
    ]
    times = {"event_time": "happened_at", "arrival_time": "stored_at", "tie_break": ["id"]}
    idle = {"idle_timeout": "2 minutes"} if number % 2 else {}
    pipeline = from_mapping(
        {
            "name": "readings",
            "sources": [
                {"name": s.path.name, "table": str(s.path), **times, "watermark": {"out_of_orderness": bound, **idle}}
                for s, bound in zip(sources, ("10 seconds", "4 minutes"), strict=True)
            ],
            "watermark": {"emit": {"every": "30 seconds"}},
            "windows": {
                "size": "10 minutes",
                "key": ["source"],
                "allowed_lateness": "20 minutes",
                "aggregates": {"readings": "count(*)", "total": "sum(reading)"},
            },
            "quality": {"max_too_late_ratio": 1},
        }
    )
    for source in sources:
        source.land()
    run(spark, pipeline, lake)
    for edit in range(EDITS):
        kind = draw.choice(sources).draw_edit(draw)
        run(spark, pipeline, lake)
        every = [{**row, "source": source.path.name} for source in sources for row in source.rows]
        assert_published(spark, lake, reference.replay(every, pipeline), (edit, kind))
