"""A lease keeps other processes from its windows, as long as its process gives signs of life."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.runtime import RuntimeSetupError
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import WORK, Lake
from spark_jobs.tables.leases import (
    FOLDER,
    SECONDS,
    Lease,
    LeaseLostError,
    LockedError,
    _Registry,
    _State,
    acquire,
    current,
)
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.owners import Owner
from tests.airflow.waiting import until
from tests.support.object_store import BUCKET, object_store

# Threads of a store's library do not survive a fork.
SPAWN = multiprocessing.get_context("spawn")
LASTS_S = 4.0
PROCESSES, TURNS = 4, 6
HELD, LINE = f"{WORK}/{FOLDER}/held", f"{WORK}/{FOLDER}/line"


def days(first: int | None, last: int | None) -> Interval:
    return Interval(*(None if day is None else datetime(2024, 1, day, tzinfo=UTC) for day in (first, last)))


@pytest.fixture(name="store", scope="module")
def _store() -> Iterator[None]:
    """A running object store, and leases that expire soon."""
    with object_store() as variables, pytest.MonkeyPatch.context() as patch:
        for name, value in {**variables, SECONDS: str(LASTS_S)}.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(name="lake", params=["folder", "object store"])
def _lake(request: pytest.FixtureRequest, store: None, tmp_path: Path) -> Lake:
    return Lake(str(tmp_path) if request.param == "folder" else f"s3a://{BUCKET}{tmp_path}", "readings")


def holders(lake: Lake) -> list[str]:
    return sorted(lease.run_id for lease in current(lake))


def holding(lake: Lake, run_id: str, interval: Interval, channel: Connection) -> None:
    """Hold the windows until the other end of the pipe sends `end`; answer whether the lease is lost."""
    with acquire(lake, run_id, interval) as lease:
        channel.send("held")
        while channel.recv() != "end":
            try:
                lease.require()
                channel.send("")
            except LeaseLostError as lost:
                channel.send(str(lost))


class Other:
    """Another process that holds an interval."""

    def __init__(self, lake: Lake, interval: Interval) -> None:
        self.channel, other_end = SPAWN.Pipe()
        self.process = SPAWN.Process(target=holding, args=(lake, "first", interval, other_end))
        self.process.start()
        assert self.channel.recv() == "held"

    def end(self) -> None:
        self.channel.send("end")
        self.process.join()

    def loss(self) -> str:
        """Return the error of a lost lease, empty if the process still has it."""
        self.channel.send("require")
        return str(self.channel.recv())

    def signal(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)


@pytest.mark.parametrize(
    ("first", "second", "is_free"),
    [
        (days(1, 3), days(3, 5), True),
        (days(1, 3), days(2, 5), False),
        (days(2, None), days(1, 2), True),
        (days(None, 2), days(1, 3), False),
        (days(None, None), days(1, 2), False),
    ],
)
def test_held_windows_are_refused_with_the_name_of_their_owner(
    lake: Lake, first: Interval, second: Interval, *, is_free: bool
) -> None:
    other = Other(lake, first)
    try:
        assert holders(lake) == ["first"]
        if is_free:
            with acquire(lake, "second", second) as lease:
                assert holders(lake) == ["first", "second"]
                assert (lease.waited, lease.taken_over) == (False, ())
        else:
            refused = pytest.raises(LockedError, match=rf"run first \(process {other.process.pid} on ")
            with refused, acquire(lake, "second", second):
                pytest.fail("held twice")
    finally:
        other.end()
    assert holders(lake) == []


def test_a_run_cannot_hold_its_windows_in_a_second_process(lake: Lake) -> None:
    other = Other(lake, days(1, 2))
    with pytest.raises(LockedError, match="run first"), acquire(lake, "first", days(1, 2)):
        pytest.fail("held twice")
    other.end()


def test_the_lease_of_a_process_that_ended_on_this_machine_is_free_at_once(lake: Lake) -> None:
    other = Other(lake, days(1, 2))
    other.signal(signal.SIGKILL)
    other.process.join()
    assert holders(lake) == []
    began = time.monotonic()
    with acquire(lake, "second", days(1, 2)) as lease:
        assert time.monotonic() - began < LASTS_S
        assert [lost.run_id for lost in lease.taken_over] == ["first"]


def test_a_lease_lasts_as_long_as_its_owner_lives(lake: Lake) -> None:
    other = Other(lake, days(1, 2))
    with pytest.raises(LockedError), acquire(lake, "second", days(1, 2), wait_s=2 * LASTS_S):
        pytest.fail("held twice")
    assert other.loss() == ""
    other.end()


def test_a_paused_owner_loses_its_lease_and_finds_that_out(lake: Lake) -> None:
    other = Other(lake, days(1, 3))
    other.signal(signal.SIGSTOP)
    began = time.monotonic()
    with acquire(lake, "second", days(2, 3), wait_s=60) as lease:
        assert [lost.run_id for lost in lease.taken_over] == ["first"]
        assert lease.waited
        # The last sign of life may be a part of its life old, and stores date objects to the second.
        assert LASTS_S / 2 < time.monotonic() - began < 3 * LASTS_S
        other.signal(signal.SIGCONT)
        assert f"another took over; found run second (process {os.getpid()} on " in other.loss()
        other.end()
        assert holders(lake) == ["second"]
    assert holders(lake) == []


def test_a_paused_owner_keeps_windows_that_no_process_needs(lake: Lake) -> None:
    other = Other(lake, days(1, 3))
    other.signal(signal.SIGSTOP)
    with acquire(lake, "second", days(3, 5)) as lease:
        assert lease.taken_over == ()
    other.signal(signal.SIGCONT)
    assert other.loss() == ""
    other.end()


def wait_and_hold(lake: Lake, channel: Connection) -> None:
    channel.send("waits")
    with acquire(lake, "second", days(1, 3), wait_s=60):
        channel.send("held")


def test_a_waiting_process_goes_on_when_the_owner_ends(lake: Lake) -> None:
    other, (channel, other_end) = Other(lake, days(1, 2)), SPAWN.Pipe()
    waiting = SPAWN.Process(target=wait_and_hold, args=(lake, other_end))
    waiting.start()
    assert channel.recv() == "waits"
    assert not channel.poll(0.5), "did not wait"
    other.end()
    assert channel.recv() == "held"
    waiting.join()


def wait_for_all(lake: Lake, channel: Connection) -> None:
    with acquire(lake, "all", Interval(), wait_s=60):
        channel.send("held")
        assert channel.recv() == "end"


def test_short_leases_do_not_starve_a_lease_of_all_windows(lake: Lake) -> None:
    first, (channel, other_end) = Other(lake, days(1, 2)), SPAWN.Pipe()
    waiting = SPAWN.Process(target=wait_for_all, args=(lake, other_end))
    waiting.start()
    until(lambda: bool(Objects(lake.home).below(LINE)), every_s=0.05)
    # Nobody works on these windows, but a process is in line for them.
    expected = rf"found run all \(process {waiting.pid} on .*\) waiting for the windows"
    with pytest.raises(LockedError, match=expected), acquire(lake, "third", days(3, 4)):
        pytest.fail("came before the line")
    assert holders(lake) == ["first"]
    first.end()
    assert channel.recv() == "held"
    assert Objects(lake.home).below(LINE) == []
    with pytest.raises(LockedError, match=r"found run all .* at work on"), acquire(lake, "third", days(3, 4)):
        pytest.fail("held twice")
    channel.send("end")
    waiting.join()
    with acquire(lake, "third", days(3, 4)) as tenure:
        assert not tenure.waited


def test_a_process_that_died_in_the_line_loses_its_place(lake: Lake) -> None:
    first, (_, other_end) = Other(lake, days(1, 2)), SPAWN.Pipe()
    waiting = SPAWN.Process(target=wait_for_all, args=(lake, other_end))
    waiting.start()
    until(lambda: bool(Objects(lake.home).below(LINE)), every_s=0.05)
    waiting.kill()
    waiting.join()
    with acquire(lake, "third", days(3, 4)):
        assert holders(lake) == ["first", "third"]
    assert Objects(lake.home).below(LINE) == []
    first.end()


def test_those_in_the_line_wait_for_older_ones_alone(lake: Lake) -> None:
    registry = _Registry(Objects(lake.home))
    leases = [
        Lease(f"run {number}", interval, Owner.this(), datetime(2024, 1, number, tzinfo=UTC), LASTS_S)
        for number, interval in ((3, days(1, 3)), (1, days(2, 5)), (2, days(4, 6)))
    ]
    for lease in leases:
        registry.give_sign(lease)
        registry.line_up(lease)
    before = [registry._before(lease) for lease in leases]
    assert [other and other.run_id for other in before] == ["run 1", None, "run 1"]


def take_turns(lake: Lake, number: int, results: Any) -> None:
    turns = []
    for _ in range(TURNS):
        with acquire(lake, f"run {number}", days(1, 3), wait_s=120) as tenure:
            began = time.monotonic()
            tenure.require()
            turns.append((began, time.monotonic()))
    results.put(turns)


def test_of_many_processes_one_at_a_time_holds_the_windows(lake: Lake) -> None:
    results = SPAWN.Queue()
    processes = [SPAWN.Process(target=take_turns, args=(lake, number, results)) for number in range(PROCESSES)]
    for process in processes:
        process.start()
    turns = sorted(turn for _ in processes for turn in results.get(timeout=120))
    for process in processes:
        process.join()
    assert len(turns) == PROCESSES * TURNS
    assert all(before[1] < after[0] for before, after in pairwise(turns))
    # Of all changes, a limited number stays.
    assert len(Objects(lake.home).below(f"{WORK}/{FOLDER}")) < 60


def test_windows_are_free_at_once_where_a_full_disk_takes_no_object(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaving creates an object. Without room for it the process lives on, but its sign of life is gone."""

    def refuse(self: Objects, name: str, content: bytes) -> bool:
        raise LakeError(f"{name} cannot be created: no space left")

    with monkeypatch.context() as full, acquire(lake, "first", days(1, 2)):
        full.setattr(Objects, "create", refuse)
    assert current(lake) == []
    with acquire(lake, "second", days(1, 2)) as tenure:
        assert [lease.run_id for lease in tenure.taken_over] == ["first"]


def test_a_number_that_was_deleted_is_created_in_vain(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was paused between reading and creating must not hold windows by a number of the past."""
    objects, read = Objects(lake.home), _Registry.read
    with acquire(lake, "first", days(1, 2)):
        (entry,) = objects.below(HELD)
        newest = objects.read(f"{HELD}/{entry.name}")
        assert newest is not None
        objects.write(f"{HELD}/{200:020d}.json", newest)
        objects.delete([f"{HELD}/{entry.name}"])
        answers = iter([_State(0, ())])
        monkeypatch.setattr(_Registry, "read", lambda self: next(answers, None) or read(self))
        with pytest.raises(LockedError, match="run first"), acquire(lake, "second", days(1, 2)):
            pytest.fail("held twice")
    assert holders(lake) == []


@pytest.mark.parametrize("text", ["2", "soon", "nan", "4000"])
def test_a_wrong_time_of_a_lease_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(SECONDS, text)
    expected = rf"^TIDEMARK_LEASE_SECONDS: found '{text}', expected a number of seconds from 3 to 3600$"
    with pytest.raises(RuntimeSetupError, match=expected), acquire(Lake(str(tmp_path), "readings"), "r", days(1, 2)):
        pytest.fail("held")
