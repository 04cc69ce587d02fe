"""Maintenance that loses its lease deletes, commits and enters nothing more; it removes what forgotten jobs left."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.jobs.operate import maintain
from spark_jobs.tables import exchange, ledger, orphans
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.leases import Lease, LeaseLostError, Tenure
from spark_jobs.tables.ledger import DISCARD
from spark_jobs.tables.orphans import Removal
from spark_jobs.tables.owners import Owner
from spark_jobs.tables.retention import Retention
from spark_jobs.tables.run import Run

NOW = datetime(2026, 1, 31, tzinfo=UTC)
OWN = Lease("maintenance", Interval(), Owner("host", "", 1, 0), NOW)
DEAD, UNNEEDED = (f"panes/staged/r{number:015x}" for number in (1, 2))


class Clock:
    """The clock of this process, and the registry of leases that this process reads. `lost_at` another takes over."""

    def __init__(self, lost_at: float) -> None:
        self.now, self.lost_at = 0.0, lost_at

    def monotonic(self) -> float:
        return self.now

    def read(self) -> SimpleNamespace:
        return SimpleNamespace(leases=() if self.now >= self.lost_at else (OWN,))

    @property
    def tenure(self) -> Tenure:
        registry: Any = self
        return Tenure(OWN, waited=False, taken_over=(), _registry=registry)


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path), "readings")
    for folder in (DEAD, UNNEEDED):
        for number in range(5):
            lake.objects.write(f"{folder}/{number}.parquet", b"")
    return lake


def files(lake: Lake) -> list[str]:
    return [entry.name for entry in lake.objects.below("panes")]


@pytest.mark.parametrize("whole", [True, False])
def test_a_removal_ends_with_the_lease(lake: Lake, monkeypatch: pytest.MonkeyPatch, *, whole: bool) -> None:
    clock = Clock(lost_at=40)
    monkeypatch.setattr("spark_jobs.tables.leases.time.monotonic", clock.monotonic)
    paths = (DEAD,) if whole else tuple(f"{DEAD}/{number}.parquet" for number in range(5))
    removal = Removal(paths, 5, 0, "dead", whole=whole)
    delete = type(lake.objects).delete

    def paused(objects: Any, names: Any) -> None:
        for number, name in enumerate(names):
            delete(objects, [name])
            # It is paused behind its second file, for longer than its lease lasts.
            clock.now += 100 if number == 1 else 0.1

    monkeypatch.setattr(type(lake.objects), "delete", paused)
    with pytest.raises(LeaseLostError, match="cannot go on with the windows"):
        orphans.remove(lake, removal, clock.tenure)
    assert len(files(lake)) == 8
    with pytest.raises(LeaseLostError):
        orphans.remove(lake, removal, clock.tenure)
    assert len(files(lake)) == 8


def maintained(
    lake: Lake, tenure: Tenure, monkeypatch: pytest.MonkeyPatch, after: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Maintain a lake with a dead run and unneeded files; return the entries of the ledger, also if it fails."""
    entries: list[str] = []
    run = Run("r000000000000001", "readings", "", "replay", 0, None, None, source_versions={})
    state: Any = SimpleNamespace(
        hidden=[],
        dead=[Removal((DEAD,), 5, 0, "dead", run.run_id)],
        unneeded=[Removal((UNNEEDED,), 5, 0, "unneeded")],
        unknown=[],
    )

    def settled(*_: object) -> list[Run]:
        after("settle")
        return []

    def record(_: object, __: object, ___: Run, step: Any) -> None:
        entries.append(step.step)
        after(step.step)

    class Maintaining(maintain._Maintaining):
        def _leftovers(self, runs: Sequence[Run], busy: str | None = None) -> Any:
            return state

        def _many(self, table: str) -> None:
            return None

    monkeypatch.setattr(maintain, "interpreting", lambda spark: spark)
    monkeypatch.setattr(maintain, "settle", settled)
    monkeypatch.setattr(ledger, "runs", lambda *_: [run])
    monkeypatch.setattr(ledger, "record", record)
    spark: Any = None
    policy = Retention(NOW, timedelta(days=14))
    try:
        Maintaining(spark, lake, policy, lambda *_: None).perform(tenure)
    except LeaseLostError:
        entries.append("lost")
    return entries


def test_maintenance_with_its_lease_removes_both(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert maintained(lake, Clock(lost_at=9).tenure, monkeypatch) == [DISCARD]
    assert files(lake) == []


@pytest.mark.parametrize(("moment", "entries"), [("settle", ["lost"]), (DISCARD, [DISCARD, "lost"])])
def test_maintenance_that_lost_its_lease_removes_nothing_more(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, moment: str, entries: list[str]
) -> None:
    clock = Clock(lost_at=9)

    def after(happened: str) -> None:
        clock.now = 10 if happened == moment else clock.now

    assert maintained(lake, clock.tenure, monkeypatch, after) == entries
    assert len(files(lake)) == 10


def test_maintenance_removes_what_jobs_and_their_callers_left(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(lake.root)
    for job, days in {"old": 15, "new": 13}.items():
        for name in (exchange.ANSWER, exchange.VARIABLES):
            file = root / exchange.FOLDER / job / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            moment = (NOW - timedelta(days=days if name == exchange.ANSWER else 20)).timestamp()
            os.utime(file, (moment, moment))
    maintained(lake, Clock(lost_at=9).tenure, monkeypatch)
    assert [folder.name for folder in (root / exchange.FOLDER).iterdir()] == ["new"]
