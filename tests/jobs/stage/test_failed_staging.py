"""Staging that fails: the owner of the windows cleans up, and a process that lost them deletes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.jobs.stage import stage
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.leases import Lease, Tenure
from spark_jobs.tables.owners import Owner

RUN = "r000000000000001"
LEASE = Lease(RUN, Interval(), Owner("host", "", 1, 0), datetime.now(UTC))


class Failing:
    """A step that fails when its process no longer works for the run."""

    def __init__(self, *_: Any) -> None:
        raise RuntimeError("no space left")


@pytest.mark.parametrize("is_owner", [True, False])
def test_files_of_a_failed_attempt_are_deleted_by_the_owner_of_the_windows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_owner: bool
) -> None:
    lake, leases = Lake(str(tmp_path), "readings"), (LEASE,) if is_owner else ()
    # Delta's writer leaves files beside each other; an attempt without Delta has a folder.
    left, in_work = (Path(lake.staged("panes", RUN), name) for name in ("part-1.parquet", "0123/part-1.parquet"))
    for file in (left, in_work):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.setattr(stage, "_Staging", Failing)
    monkeypatch.setattr(stage, "_input_errors", _as_they_are)
    registry: Any = SimpleNamespace(read=lambda: SimpleNamespace(leases=leases))
    tenure = Tenure(LEASE, waited=False, taken_over=(), _registry=registry)
    double: Any = SimpleNamespace(join=None, run_id=RUN)
    with pytest.raises(RuntimeError, match="no space left"):
        stage.stage(double, double, lake, double, slices=1, progress=lambda *_: None, tenure=tenure)
    assert (left.exists(), in_work.exists()) == (not is_owner, True)


@contextmanager
def _as_they_are(*_: Any) -> Iterator[None]:
    yield
