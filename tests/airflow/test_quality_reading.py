"""What the pages of data quality read from a lake: every run as the ledger has it, and no more than is shown."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from expectations import Check as RecordedCheck
from spark_jobs.jobs.audit import audit
from spark_jobs.tables import delta_rs, run_history
from spark_jobs.tables import ledger as sparks
from spark_jobs.tables.delta_rs import Table
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run, Step
from tests.support.fake_lake import AT, COUNTS, add_rows, add_rows_in_one_file, check, run_id, steps
from tidemark_airflow.quality import check_rows, overview, reading
from tidemark_airflow.quality.ratios import Ratios

pytestmark = pytest.mark.airflow


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path), "sales")


@pytest.fixture(name="queries")
def _queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the queries of tables."""
    queries: list[str] = []
    select = Table.select

    def recording_select(table: Table, query: str) -> list[dict[str, Any]]:
        queries.append(query)
        return select(table, query)

    monkeypatch.setattr(Table, "select", recording_select)
    return queries


def ids(history: run_history.History) -> list[str]:
    return [run.run_id for run in history.runs]


@pytest.mark.soak
@pytest.mark.spark
def test_what_spark_has_written_is_read_as_spark_reads_it(session: SparkSession, lake: Lake) -> None:
    at = datetime(2026, 3, 29, 0, 59, 59, 123_456, tzinfo=UTC)
    for number in range(4):
        start, end = (None, None) if number else (at, at + timedelta(hours=2))
        run = Run(run_id(number), "sales", "f", "full", number, start, end, arrived_to=at)
        steps = (
            Step("plan", "done", at, at + timedelta(seconds=1)),
            Step("replay", "done", at, at + timedelta(seconds=2), counts=dict(COUNTS)),
            Step(
                "audit", "blocked", at, at + timedelta(seconds=3), {"checks_failed": 1}, error="it's 'so'", note="<b>"
            ),
        )
        for step in steps:
            sparks.record(session, lake, run, step)
        at += timedelta(hours=1)
    checks = [
        RecordedCheck("panes", "numbered_without_gap", "", success=True, observed="24", unexpected_count=0, details=""),
        RecordedCheck(
            "run", "rows_are_conserved", "", success=False, observed="1", unexpected_count=None, details="a\nb"
        ),
    ]
    audit.record(session, lake, run_id(1), checks)
    assert list((Path(lake.path("runs")) / "_delta_log").glob("*.checkpoint.parquet"))
    assert list((Path(lake.path("runs")) / "_delta_log").glob("*11.json"))

    runs = sparks.runs(session, lake)
    assert list(reversed(run_history.newest(lake, 100).runs)) == runs
    assert run_history.find(lake, run_id(2)) == runs[2]
    assert [(c.expectation, c.success) for c in check_rows.of_runs(lake, [run_id(1)])[run_id(1)]] == [
        ("rows_are_conserved", False),
        ("numbered_without_gap", True),
    ]
    session.sql(f"OPTIMIZE delta.`{lake.path('runs')}`")
    audit.record(session, lake, run_id(1), checks[:1])
    assert list(reversed(run_history.newest(lake, 100).runs)) == runs
    assert ids(run_history.newest(lake, 6)) == [run_id(3), run_id(2)]
    assert [c.success for c in check_rows.of_runs(lake, [run_id(1)])[run_id(1)]] == [True]


def test_runs_come_newest_first_with_their_states_and_counts(lake: Lake, tmp_path: Path) -> None:
    add_rows(tmp_path, "sales", steps(1))
    add_rows(tmp_path, "sales", steps(2, until="audit", state="blocked", failed=3))
    newest, before = run_history.newest(lake, 50).runs
    assert (newest.run_id, newest.state, newest.counts["checks_failed"]) == (run_id(2), "blocked", 3)
    assert (before.state, before.counts["rows_read"]) == ("published", 1000)
    assert before.started_at == AT + timedelta(hours=1)


def test_a_long_ledger_is_read_as_far_as_it_is_shown(lake: Lake, tmp_path: Path, queries: list[str]) -> None:
    for number in range(4):
        add_rows(tmp_path, "sales", steps(number))
    history = run_history.newest(lake, 7)
    assert ids(history) == [run_id(3), run_id(2)]
    assert history.is_cut
    # The oldest of them is whole, though its first steps are older than the newest seven.
    assert history.runs[-1].counts["rows_read"] == 1000
    assert not run_history.newest(lake, 100).is_cut
    since = AT + timedelta(hours=2, minutes=3, seconds=30)
    assert f"finished_at >= TIMESTAMP '{since.isoformat()}'" in queries[0]


def test_a_ledger_in_one_file_is_read_like_any(lake: Lake, tmp_path: Path) -> None:
    add_rows_in_one_file(tmp_path, "sales", [row for number in range(30) for row in steps(number)])
    history = run_history.newest(lake, 10)
    assert ids(history) == [run_id(29), run_id(28)]
    assert history.is_cut


def test_what_maintenance_enters_for_old_runs_hides_no_new_one(lake: Lake, tmp_path: Path) -> None:
    add_rows(tmp_path, "sales", steps(0, until="audit"))
    add_rows(tmp_path, "sales", steps(1))
    late = AT + timedelta(days=9)
    discard = {**steps(0)[0], "step": "discard", "started_at": late, "finished_at": late}
    add_rows_in_one_file(tmp_path, "sales", [{**discard, "run_id": run_id(100 + i)} for i in range(20)])
    add_rows(tmp_path, "sales", [discard])
    newest, old = run_history.newest(lake, 8).runs
    assert (newest.run_id, newest.state) == (run_id(1), "published")
    assert (old.run_id, old.state) == (run_id(0), "discarded")


def test_a_version_is_read_once_and_the_next_one_is_seen(lake: Lake, tmp_path: Path, queries: list[str]) -> None:
    add_rows(tmp_path, "sales", steps(1))
    first = run_history.newest(lake, 50)
    read = len(queries)
    assert run_history.newest(lake, 50) is first
    assert len(queries) == read
    add_rows(tmp_path, "sales", steps(2, until="plan"))
    assert ids(run_history.newest(lake, 50)) == [run_id(2), run_id(1)]


def test_a_lake_that_was_made_anew_is_read_anew(lake: Lake, tmp_path: Path) -> None:
    add_rows(tmp_path, "sales", steps(1))
    assert ids(run_history.newest(lake, 50)) == [run_id(1)]
    (tmp_path / "sales").rename(tmp_path / "old")
    add_rows(tmp_path, "sales", [*steps(2), *steps(3, until="plan")])
    assert ids(run_history.newest(lake, 50)) == [run_id(3), run_id(2)]


def test_a_pipeline_that_was_never_run_has_no_runs_and_no_lake_is_an_error(tmp_path: Path) -> None:
    assert run_history.newest(Lake(str(tmp_path), "sales"), 50) == run_history.History()
    assert not (tmp_path / "sales").exists()
    nowhere = tmp_path / "nowhere"
    with pytest.raises(LakeError, match=rf"^there is no lake at {nowhere}; TIDEMARK_LAKE names its folder$"):
        run_history.newest(Lake(str(nowhere), "sales"), 50)
    assert not nowhere.exists()


def test_an_object_store_that_does_not_answer_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ENDPOINT_URL": "http://127.0.0.1:9", "ALLOW_HTTP": "true", "REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.setenv(f"AWS_{name}", "none")
    with pytest.raises(LakeError, match=r"^s3://nowhere/sales/runs cannot be read: .*[Cc]onnect") as raised:
        run_history.newest(Lake("s3://nowhere", "sales"), 50)
    assert str(raised.value).isprintable()


def test_a_table_that_cannot_be_read_takes_no_other_pipeline_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path))
    add_rows(tmp_path, "sales", steps(1))
    add_rows(tmp_path, "visits", steps(1, pipeline="visits"))
    log = tmp_path / "visits/runs/_delta_log"
    next(iter(sorted(log.glob("*.json")))).write_text("{", encoding="utf-8")
    sales, visits, clicks = overview.rows(["sales", "visits", "clicks"], {})
    assert sales.run is not None
    assert visits.problem is not None
    assert visits.problem.startswith(f"{tmp_path}/visits/runs cannot be read: ")
    assert visits.problem.isprintable()
    assert (clicks.run, clicks.problem) == (None, None)


@pytest.mark.soak
def test_many_pipelines_with_many_runs_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path))
    # Others may be at work on this machine.
    monkeypatch.setattr(overview, "WITHIN_S", 600.0)
    add_rows_in_one_file(tmp_path, "p0", [row for number in range(1000) for row in steps(number)])
    add_rows(tmp_path, "p0", [row for number in range(1000, 1020) for row in steps(number)])
    names = [f"p{i}" for i in range(200)]
    for name in names[1:]:
        shutil.copytree(tmp_path / "p0", tmp_path / name)
    first = overview.rows(["p199"], {})
    began = time.perf_counter()
    cold = overview.rows(names[: overview.PIPELINES], {})
    between = time.perf_counter()
    warm = overview.rows(names[: overview.PIPELINES], {})
    ended = time.perf_counter()
    history = run_history.newest(Lake(str(tmp_path), "p150"), reading.STEPS)
    sys.stdout.write(
        f"{len(cold)} pipelines of 1,020 runs: {between - began:.2f} s, again {ended - between:.2f} s; "
        f"{len(history.runs)} runs of one: {time.perf_counter() - ended:.2f} s\n"
    )
    assert all(row.run is not None and row.run.run_id == run_id(1019) for row in (*first, *cold, *warm))
    assert ended - between < (between - began) / 2


def test_failed_checks_of_the_requested_runs_come_first(lake: Lake, tmp_path: Path) -> None:
    rows = [check(1, "b"), check(1, "a"), check(1, "c", success=False, details="one\ntwo"), check(2, "d")]
    add_rows(tmp_path, "sales", [], [*rows, check(3, "e")])
    checks = check_rows.of_runs(lake, [run_id(1), run_id(2), "' OR 1 = 1 --"])
    assert {run: [c.expectation for c in some] for run, some in checks.items()} == {
        run_id(1): ["c", "a", "b"],
        run_id(2): ["d"],
    }
    assert checks[run_id(1)][0].examples == ("one", "two")
    failed = check_rows.of_runs(lake, [run_id(1), run_id(2)], failed_only=True)
    assert [c.expectation for c in failed[run_id(1)]] == ["c"]
    assert run_id(2) not in failed
    assert check_rows.of_runs(lake, ["' OR 1 = 1 --"]) == {}
    assert run_history.find(lake, "' OR 1 = 1 --") is None


def test_ratios_are_shares_of_the_rows_that_belong_to_a_window() -> None:
    ratios = Ratios.of({**COUNTS, "too_late_behind": 10})
    assert ratios == Ratios(940, 40, 20)
    assert (ratios.late_ratio, ratios.too_late_ratio, ratios.completeness) == (0.04, 0.02, 0.98)
    assert Ratios.of({"rows_read": 7, "on_time": 0, "invalid": 7}) is None
    assert Ratios.of({}) is None


def test_the_cache_holds_at_most_its_limits_of_tables_and_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_rs, "MOST_TABLES", 2)
    monkeypatch.setattr(delta_rs, "MOST_READINGS", 1)
    for name in ("a", "b", "c"):
        add_rows(tmp_path, name, steps(1, pipeline=name))
        for count in (5, 6):
            assert len(run_history.newest(Lake(str(tmp_path), name), count).runs) == 1
    assert len(delta_rs._cache) == 2
    assert all(len(cached.readings) == 1 for cached in delta_rs._cache.values())


def test_a_ledger_without_later_columns_is_read(lake: Lake, tmp_path: Path) -> None:
    add_rows(tmp_path, "sales", steps(1))
    table = DeltaTable(lake.path("runs")).to_pyarrow_table().drop_columns(["note", "arrived_from", "arrived_to"])
    from deltalake import write_deltalake

    write_deltalake(tmp_path / "old" / "runs", table)
    (run,) = run_history.newest(replace(lake, pipeline="old"), 50).runs
    assert (run.run_id, run.accepted, run.arrived_to) == (run_id(1), None, None)
