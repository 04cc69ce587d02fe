"""A source is replayed only as the run read it, and only if it is small enough for a page."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import BoundedSemaphore

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.inspection import bounded_source, inspector
from spark_jobs.inspection.bounded_source import NotReplayedError, require_replayable, source_rows
from spark_jobs.inspection.inspections import Basis, RowChoice
from spark_jobs.inspection.inspector import Inspector
from spark_jobs.inspection.publication import Publication
from spark_jobs.inspection.run_settings import RunSettings
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import FULL, REPAIR, ROLLBACK, Run
from tests.support import history
from tests.support.recorded_publication import land, publish

ROWS = history.events(300)
CUSTOM = "{strategy: custom, class: 'tests.custom_watermarks:Bounded', emit: {every: 30 seconds}}"


@pytest.fixture(name="published")
def _published(tmp_path: Path) -> tuple[Publication, Pipeline]:
    pipeline = history.pipeline(str(land(tmp_path / "rows", ROWS)))
    return publish(Lake(str(tmp_path / "lake"), "readings"), pipeline, ROWS), pipeline


def test_the_rows_are_those_of_the_pinned_version(published: tuple[Publication, Pipeline]) -> None:
    publication, pipeline = published
    more = [{**row, "id": row["id"] + 1000} for row in ROWS]
    write_deltalake(pipeline.source.table, pa.Table.from_pylist(more), mode="append")
    assert sorted(row["id"] for row in source_rows(pipeline, publication.run)) == [row["id"] for row in ROWS]


def test_a_large_source_is_not_read(published: tuple[Publication, Pipeline], monkeypatch: pytest.MonkeyPatch) -> None:
    publication, pipeline = published
    monkeypatch.setattr(bounded_source, "MOST_ROWS", len(ROWS) - 1)
    with pytest.raises(NotReplayedError, match=r"its source has 300 rows, and a page replays at most 299"):
        source_rows(pipeline, publication.run)
    monkeypatch.setattr(bounded_source, "MOST_ROWS", len(ROWS))
    assert len(source_rows(pipeline, publication.run)) == len(ROWS)
    monkeypatch.setattr(bounded_source, "MOST_BYTES", 10)
    with pytest.raises(NotReplayedError, match=r"MiB, and a page reads at most"):
        source_rows(pipeline, publication.run)


def test_another_table_at_the_same_place_is_not_read(published: tuple[Publication, Pipeline]) -> None:
    publication, pipeline = published
    run = replace(publication.run, source_ids={"": "00000000-0000-0000-0000-000000000000"})
    with pytest.raises(NotReplayedError, match="is another table than the one that the run has read"):
        source_rows(pipeline, run)


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"replay__order": "commit", "source__arrival_time": "null"}, "order of commits"),
        ({"watermark": CUSTOM}, "its watermark is a class"),
        ({"source__table": "main.default.readings"}, "'main.default.readings' is a name of a catalog"),
    ],
)
def test_what_a_page_does_not_replay_has_a_reason(overrides: dict[str, str], reason: str) -> None:
    pipeline = history.pipeline("/lake/rows", **overrides)
    with pytest.raises(NotReplayedError, match=reason):
        require_replayable(pipeline, run_of(pipeline))


def run_of(pipeline: Pipeline) -> Run:
    return Run("r0123456789abcde", pipeline.name, pipeline.fingerprint, FULL, 0, None, None)


def test_a_rollback_has_no_source(published: tuple[Publication, Pipeline]) -> None:
    publication, pipeline = published
    with pytest.raises(NotReplayedError, match="is a rollback, and has read no source"):
        require_replayable(pipeline, replace(publication.run, kind=ROLLBACK))


def test_other_settings_than_those_of_the_run_are_named(published: tuple[Publication, Pipeline]) -> None:
    publication, pipeline = published
    changed = history.pipeline(pipeline.source.table, windows__allowed_lateness="1 hour")
    with pytest.raises(NotReplayedError, match=r"windows\.allowed_lateness: 20 minutes -> 1 hour"):
        require_replayable(changed, publication.run)


def test_the_inspector_falls_back_to_the_tables_with_the_reason(
    published: tuple[Publication, Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    publication, pipeline = published
    late = next(row for row in ROWS if row["stored_at"] and row["happened_at"])
    choice = RowChoice(micros(late["happened_at"]), micros(late["stored_at"]))
    changed = history.pipeline(pipeline.source.table, windows__allowed_lateness="1 hour")
    for file, shows, reason in (
        (pipeline, False, "TIDEMARK_PAGES_SHOW_SOURCE"),
        (None, True, "no good file of the pipeline"),
        (changed, True, "other settings than the run"),
    ):
        answer = Inspector(publication, file, shows_source=shows).rows(choice)
        assert reason in answer.reason
        assert all(each.basis is Basis.PUBLISHED for each in answer.content)
        assert reason in Inspector(publication, file, shows_source=shows).reason
        assert Inspector(publication, file, shows_source=shows).rows_with("id", "7").content == []
    monkeypatch.setattr(inspector, "WAIT_S", 0.01)
    monkeypatch.setattr(inspector, "_slots", BoundedSemaphore(1))
    with inspector._slots:
        assert (
            "other explanations are being made"
            in Inspector(publication, pipeline, shows_source=True).rows(choice).reason
        )
    answer = Inspector(publication, pipeline, shows_source=True).rows_with("id", "7")
    assert [each.row.row["id"] for each in answer.content] == [7]
    assert Inspector(publication, pipeline, shows_source=True).reason == ""


def test_a_source_that_is_gone_is_a_reason(published: tuple[Publication, Pipeline], tmp_path: Path) -> None:
    publication, pipeline = published
    (tmp_path / "rows").rename(tmp_path / "moved")
    answer = Inspector(publication, pipeline, shows_source=True).rows(RowChoice(0, 0))
    assert "its source cannot be read" in answer.reason


def test_a_run_over_arrivals_reads_the_rows_before_its_end(published: tuple[Publication, Pipeline]) -> None:
    publication, pipeline = published
    end = ROWS[200]["stored_at"].replace(microsecond=0) + timedelta(seconds=1)
    slice_of = replace(publication, run=replace(publication.run, arrived_to=end))
    by_source = Inspector(slice_of, pipeline, shows_source=True)
    assert [len(by_source.rows_with("id", str(number)).content) for number in (199, 200, 202)] == [1, 1, 0]


def test_several_sources_are_united_by_name(tmp_path: Path) -> None:
    north = [{**row, "only_north": 1} for row in ROWS if row["site"] == "north" and row["happened_at"]]
    south = [row for row in ROWS if row["site"] == "south" and row["happened_at"]]
    sources = [
        {
            "name": name,
            "table": str(land(tmp_path / name, rows)),
            "event_time": "happened_at",
            "arrival_time": "stored_at",
            "tie_break": ["id"],
            "watermark": {"strategy": "bounded_out_of_orderness", "out_of_orderness": "10 seconds"},
        }
        for name, rows in (("north", north), ("south", south))
    ]
    pipeline = from_mapping(
        {
            "name": "both",
            "sources": sources,
            "watermark": {"emit": {"every": "30 seconds"}},
            "windows": {
                "kind": "tumbling",
                "size": "10 minutes",
                "key": ["device"],
                "aggregates": {"readings": "count(*)"},
            },
        }
    )
    run = replace(run_of(pipeline), source_versions={"north": 0, "south": 0})
    rows = source_rows(pipeline, run)
    assert {row["source"] for row in rows} == {"north", "south"}
    assert {row["only_north"] for row in rows if row["source"] == "south"} == {None}


def test_settings_of_a_run_are_read_from_the_ledger(published: tuple[Publication, Pipeline]) -> None:
    publication, _ = published
    settings = publication.settings
    assert (settings.lateness_ms, settings.is_united, settings.joins, settings.is_session) == (
        1_200_000,
        False,
        False,
        False,
    )
    assert settings.bound is not None
    assert (settings.bound.setting, settings.bound.ms) == ("watermark.out_of_orderness", 10_000)
    assert (publication.key, publication.partition) == (("device",), ("site",))
    repaired = RunSettings.of(replace(publication.run, kind=REPAIR))
    assert not repaired.updates, "a repair decides about its own windows alone"
    assert repaired.lateness_ms == settings.lateness_ms
    assert RunSettings({**settings.texts, "windows.late_data": "update"}).updates
    old = replace(publication, run=replace(publication.run, settings={}))
    assert not old.settings.are_known
    assert (old.settings.lateness_ms, old.settings.bound) == (None, None)
    # The key is then that of the results.
    assert old.key == ("device",)
