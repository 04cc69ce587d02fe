"""A lock keeps other processes from its windows, as long as its process lives."""

from __future__ import annotations

import multiprocessing
import os
import signal
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import WORK, Lake
from spark_jobs.tables.locks import LockedError, acquire

FORK = multiprocessing.get_context("fork")


def days(first: int | None, last: int | None) -> Interval:
    return Interval(*(None if day is None else datetime(2024, 1, day, tzinfo=UTC) for day in (first, last)))


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path), "readings")


def lock_files(lake: Lake) -> list[str]:
    """The names of the lock files, without the registry."""
    assert lake.folder is not None
    return sorted(path.name for path in (lake.folder / WORK / "holds").iterdir() if not path.name.startswith("."))


def holding(lake: Lake, run_id: str, interval: Interval, channel: Connection) -> None:
    """Lock the windows until the other end of the pipe sends something."""
    with acquire(lake, run_id, interval):
        channel.send("held")
        channel.recv()


class Other:
    """Another process that has locked an interval."""

    def __init__(self, lake: Lake, interval: Interval) -> None:
        self._channel, other_end = FORK.Pipe()
        self.process = FORK.Process(target=holding, args=(lake, "first", interval, other_end))
        self.process.start()
        assert self._channel.recv() == "held"

    def end(self) -> None:
        self._channel.send("end")
        self.process.join()

    def kill(self) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()


@pytest.mark.parametrize(
    ("first", "second", "is_free"),
    [
        (days(1, 3), days(3, 5), True),
        (days(3, 5), days(1, 3), True),
        (days(1, 3), days(2, 5), False),
        (days(2, 5), days(1, 3), False),
        (days(1, None), days(1, 2), False),
        (days(2, None), days(1, 2), True),
        (days(None, 2), days(2, 3), True),
        (days(None, 2), days(1, 3), False),
        (days(None, None), days(1, 2), False),
        (days(1, 2), days(None, None), False),
    ],
)
def test_lock_on_held_windows_is_refused_with_the_holders_name(
    lake: Lake, first: Interval, second: Interval, *, is_free: bool
) -> None:
    other = Other(lake, first)
    try:
        assert lock_files(lake) == ["first"]
        if is_free:
            with acquire(lake, "second", second):
                assert lock_files(lake) == ["first", "second"]
        else:
            refused = pytest.raises(LockedError, match=rf"run first \(process {other.process.pid} on ")
            with refused, acquire(lake, "second", second):
                pytest.fail("held twice")
    finally:
        other.end()
    assert lock_files(lake) == []
    with acquire(lake, "second", second):
        assert lock_files(lake) == ["second"]


def test_run_cannot_lock_its_windows_in_a_second_process(lake: Lake) -> None:
    other = Other(lake, days(1, 2))
    with pytest.raises(LockedError, match="run first"), acquire(lake, "first", days(1, 2)):
        pytest.fail("held twice")
    other.end()


def test_lock_of_a_dead_process_is_released(lake: Lake) -> None:
    other = Other(lake, days(1, 2))
    other.kill()
    assert lock_files(lake) == ["first"]
    with acquire(lake, "second", days(1, 2)):
        assert lock_files(lake) == ["second"]


def test_waiting_process_continues_when_the_holder_ends(lake: Lake) -> None:
    other, (channel, other_end) = Other(lake, days(1, 2)), FORK.Pipe()
    waiting = FORK.Process(target=waits, args=(lake, other_end))
    waiting.start()
    assert channel.recv() == "waiting"
    assert not channel.poll(0.5), "did not wait"
    other.end()
    assert channel.recv() == "held"
    waiting.join()


def waits(lake: Lake, channel: Connection) -> None:
    channel.send("waiting")
    with acquire(lake, "second", days(1, 3), wait_s=60):
        channel.send("held")


def test_a_lake_elsewhere_has_no_locks() -> None:
    elsewhere = Lake("s3a://bucket/lake", "readings")
    with acquire(elsewhere, "first", days(1, 2)), acquire(elsewhere, "second", days(1, 2)):
        assert elsewhere.folder is None
