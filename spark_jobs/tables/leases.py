"""Leases of windows: at most one process at a time works on the same windows of a pipeline, on whatever machine.

    <lake>/<pipeline>/_work/leases/held/<number>.json    all leases that are held; the greatest number is valid
    <lake>/<pipeline>/_work/leases/signs/<lease>         a sign of life: its owner writes it again and again
    <lake>/<pipeline>/_work/leases/line/<lease>.json     a lease that waits for others to end

Laws:

- a change creates the next number. Only one of several processes can create it; the others read the leases again;
- a lease expires when its last sign of life is older than `TIDEMARK_LEASE_SECONDS` of its owner, by the clock of the
  store. Clocks of machines do not count;
- an expired lease is taken over by a process that needs its windows. On the owner's machine the lease of an ended
  process is free at once. So is a lease without a sign, whose owner has left;
- processes that wait stand in line: an older one that waits for some of the same windows, and lives, comes first. So
  many short leases do not starve a lease of all windows. No process waits while it holds a lease, so the oldest one
  waits for no other in the line;
- an owner that was paused for longer finds its lease gone (`Tenure.require`), and publishes nothing.

The same rules hold in a folder and in an object store.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar
from uuid import uuid4

from spark_jobs.error_codes import ErrorCode
from spark_jobs.runtime import RuntimeSetupError
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval, in_words
from spark_jobs.tables.lake import WORK, Lake
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.owners import Owner

Item = TypeVar("Item")
#: The seconds after the last sign of life in which a lease stays its owner's: the variable, and its default.
SECONDS, DEFAULT_S = "TIDEMARK_LEASE_SECONDS", 60.0
#: The folder of the leases, in the folder of the rows that runs store.
FOLDER = "leases"
# Stores date objects to the second.
_LEAST_S, _MOST_S = 3.0, 3600.0
_SIGNS_A_LEASE = 4
_POLL_S = 0.25
# So many earlier numbers stay: a process that was paused between reading and creating must not create an old number.
_EARLIER_NUMBERS = 50
_HELD, _SIGNS, _LINE = (f"{WORK}/{FOLDER}/{name}" for name in ("held", "signs", "line"))


class LockedError(RuntimeError):
    """Another process works on some of the requested windows."""

    code = ErrorCode.WINDOWS_LOCKED


class LeaseLostError(RuntimeError):
    """Another process has taken over the windows of this one, which gave no sign of life for too long."""

    code = ErrorCode.LEASE_LOST


@dataclass(frozen=True)
class Lease:
    """The windows that a run works on, and the process that does so since `since`.

    The lease expires `lasts_s` seconds after the last sign of life.
    """

    run_id: str
    interval: Interval
    owner: Owner
    since: datetime
    lasts_s: float = DEFAULT_S
    id: str = field(default_factory=lambda: uuid4().hex)

    def __str__(self) -> str:
        owner = f"process {self.owner.pid} on {self.owner.host}"
        return f"run {self.run_id} ({owner}, since {self.since:%Y-%m-%d %H:%M:%S} UTC)"

    def as_json(self) -> dict[str, Any]:
        """Return one object."""
        start, end = (None if edge is None else edge.isoformat() for edge in (self.interval.start, self.interval.end))
        return {
            "id": self.id,
            "run_id": self.run_id,
            "from": start,
            "to": end,
            "host": self.owner.host,
            "machine": self.owner.machine,
            "pid": self.owner.pid,
            "started": self.owner.started,
            "since": self.since.isoformat(),
            "lasts_s": self.lasts_s,
        }

    @classmethod
    def of_json(cls, entry: dict[str, Any]) -> Lease:
        """Return the lease of an object that `as_json` returned."""
        start, end = (None if entry[edge] is None else datetime.fromisoformat(entry[edge]) for edge in ("from", "to"))
        owner = Owner(entry["host"], entry["machine"], int(entry["pid"]), int(entry["started"]))
        since = datetime.fromisoformat(entry["since"])
        return cls(entry["run_id"], Interval(start, end), owner, since, float(entry["lasts_s"]), entry["id"])


@dataclass(frozen=True)
class Tenure:
    """A lease of this process. It `waited` for other owners, or has taken over the windows of some."""

    lease: Lease
    waited: bool
    taken_over: tuple[Lease, ...]
    _registry: _Registry

    def require(self) -> None:
        """Raise LeaseLostError if another process has taken over the windows, LakeError if the lake is unreadable."""
        if self.lease not in self._registry.read().leases:
            raise self.lost()

    def guarded(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items as long as this process has its lease, for work that must not go on without it.

        The lease is read before the first item, and again when a part of its length has passed. So after a pause at
        most one item is worked on without the lease. Raises as `require`.
        """
        read_at = -math.inf
        for item in items:
            if time.monotonic() - read_at > self.lease.lasts_s / _SIGNS_A_LEASE:
                read_at = time.monotonic()
                self.require()
            yield item

    def lost(self) -> LeaseLostError:
        """Return the error of a lease that another process has taken over."""
        leases = self._registry.read().leases
        owner = next((lease for lease in leases if lease.interval.overlaps(self.lease.interval)), None)
        now = f"found {owner} at work on them" if owner else "no process works on them now"
        return LeaseLostError(
            f"cannot go on with the windows {in_words(self.lease.interval)}: this process gave no sign of life for "
            f"{self.lease.lasts_s:g} seconds, so another took over; {now}. "
            "Run the same command again: it goes on from what is staged"
        )


@contextmanager
def acquire(lake: Lake, run_id: str, interval: Interval, *, wait_s: float = 0) -> Iterator[Tenure]:
    """Hold the windows of `interval` for the length of a `with` block.

    Waits up to `wait_s` seconds while other processes hold some of the windows, or are before it in the line. Then
    raises LockedError, which names one of these processes. Raises LakeError.
    """
    objects = lake.objects
    objects.require_conditional_writes()
    registry = _Registry(objects)
    lease = Lease(run_id, interval, Owner.this(), datetime.now(UTC), _seconds(os.environ))
    deadline, waited = time.monotonic() + wait_s, False
    registry.give_sign(lease)
    try:
        while isinstance(entered := registry.enter(lease), Obstacle):
            if time.monotonic() >= deadline:
                raise LockedError(
                    f"cannot work on the windows {in_words(interval)}: found {entered.lease} "
                    f"{entered.does} the windows {in_words(entered.lease.interval)}. Let it end, or give --wait"
                )
            if not waited:
                registry.line_up(lease)
            waited = True
            time.sleep(_POLL_S)
            registry.give_sign(lease)
        if waited:
            registry.leave_line(lease)
        with _signs_of_life(registry, lease):
            yield Tenure(lease, waited, entered, registry)
    finally:
        if waited:
            registry.leave_line(lease)
        with suppress(LakeError):
            registry.leave(lease)


def current(lake: Lake) -> list[Lease]:
    """Return the leases of processes that work, without those that have expired. Raises LakeError."""
    registry = _Registry(Objects(lake.home))
    return [lease for lease in registry.read().leases if not registry.is_free(lease, datetime.now(UTC))]


@contextmanager
def _signs_of_life(registry: _Registry, lease: Lease) -> Iterator[None]:
    ended = Event()

    def give() -> None:
        while not ended.wait(lease.lasts_s / _SIGNS_A_LEASE):
            # A store that does not answer now may answer the next time, before the lease expires.
            with suppress(LakeError):
                registry.give_sign(lease)

    thread = Thread(target=give, name="signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True)
class _State:
    """The leases at a number; 0 before the first."""

    number: int
    leases: tuple[Lease, ...]
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True)
class Obstacle:
    """A lease that keeps another from its windows, and what its owner does with them."""

    lease: Lease
    does: str


class _Registry:
    """The leases of a pipeline."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def read(self) -> _State:
        """Return the newest leases."""
        while True:
            names = [entry.name for entry in self._objects.below(_HELD)]
            if not names:
                return _State(0, ())
            content = self._objects.read(f"{_HELD}/{names[-1]}")
            # Only earlier numbers are deleted, so a newer one exists.
            if content is not None:
                entries = json.loads(content)["leases"]
                return _State(int(Path(names[-1]).stem), tuple(map(Lease.of_json, entries)), tuple(names[:-1]))

    def line_up(self, lease: Lease) -> None:
        """Enter the line; if the lake takes no object now, the lease waits without a place in it."""
        with suppress(LakeError):
            self._objects.write(f"{_LINE}/{lease.id}.json", json.dumps(lease.as_json()).encode())

    def leave_line(self, lease: Lease) -> None:
        """Leave the line. A place that stays in it, as the store does not answer, ends with the signs of life."""
        with suppress(LakeError):
            self._objects.delete([f"{_LINE}/{lease.id}.json"])

    def _before(self, lease: Lease) -> Lease | None:
        """Return a lease that is before this one in the line for some of its windows; None without one.

        Those whose owners give no sign of life lose their places.
        """
        contents = [self._objects.read(f"{_LINE}/{entry.name}") for entry in self._objects.below(_LINE)]
        waiting = [Lease.of_json(json.loads(content)) for content in contents if content is not None]
        for other in sorted(waiting, key=_place):
            if _place(other) >= _place(lease):
                break
            if not other.interval.overlaps(lease.interval):
                continue
            if not self.is_free(other, self._now(lease)):
                return other
            self._objects.delete([f"{_LINE}/{other.id}.json", f"{_SIGNS}/{other.id}"])
        return None

    def enter(self, lease: Lease) -> Obstacle | tuple[Lease, ...]:
        """Add a lease. Returns the leases that it takes over, or what keeps it from its windows."""
        first = self._before(lease)
        if first is not None:
            return Obstacle(first, "waiting for")
        while True:
            state = self.read()
            overlapping = [other for other in state.leases if other.interval.overlaps(lease.interval)]
            if overlapping:
                now = self._now(lease)
                holder = next((other for other in overlapping if not self.is_free(other, now)), None)
                if holder is not None:
                    return Obstacle(holder, "at work on")
            rest = [other for other in state.leases if other not in overlapping and not other.owner.has_ended]
            if self._changed(state, [*rest, lease], lambda leases: lease in leases):
                self._objects.delete(f"{_SIGNS}/{other.id}" for other in state.leases if other not in rest)
                return tuple(overlapping)

    def leave(self, lease: Lease) -> None:
        """Remove a lease, unless it is gone. On a full disk its sign of life is removed, so that it has expired."""
        try:
            while lease in (state := self.read()).leases:
                rest = [other for other in state.leases if other != lease]
                if self._changed(state, rest, lambda leases: lease not in leases):
                    break
        finally:
            self._objects.delete([f"{_SIGNS}/{lease.id}"])

    def give_sign(self, lease: Lease) -> None:
        """Write that the owner of a lease is alive."""
        self._objects.write(f"{_SIGNS}/{lease.id}", b"")

    def is_free(self, lease: Lease, now: datetime) -> bool:
        """Return whether a lease has expired, or its process has ended."""
        if lease.owner.has_ended:
            return True
        sign = self._objects.find(f"{_SIGNS}/{lease.id}")
        return sign is None or now - sign.modified > timedelta(seconds=lease.lasts_s)

    def _now(self, lease: Lease) -> datetime:
        """Return the time by the clock of the store, from a new sign of life of this process."""
        self.give_sign(lease)
        sign = self._objects.find(f"{_SIGNS}/{lease.id}")
        return datetime.now(UTC) if sign is None else sign.modified

    def _changed(self, state: _State, leases: Sequence[Lease], has_effect: Callable[[Sequence[Lease]], bool]) -> bool:
        """Create the next number with these leases; returns whether they are, or were, the valid ones."""
        text = json.dumps({"change": uuid4().hex, "leases": [lease.as_json() for lease in leases]})
        number = state.number + 1
        if not self._objects.create(f"{_HELD}/{number:020d}.json", text.encode()):
            return False
        newest = self.read()
        # A number that is far behind was deleted before: to create it has no effect.
        if newest.number > number and not has_effect(newest.leases):
            return False
        least = f"{max(number - _EARLIER_NUMBERS, 0):020d}.json"
        self._objects.delete(f"{_HELD}/{name}" for name in newest.earlier if name < least)
        return True


def _place(lease: Lease) -> tuple[datetime, str]:
    """Return the place in the line, by which any two leases have an order, on whatever machine it is read."""
    return lease.since, lease.id


def _seconds(environ: Mapping[str, str]) -> float:
    """Return how long a lease of this process lasts. Raises RuntimeSetupError for a wrong number."""
    text = environ.get(SECONDS) or str(DEFAULT_S)
    with suppress(ValueError):
        if _LEAST_S <= (seconds := float(text)) <= _MOST_S:
            return seconds
    raise RuntimeSetupError.wrong_lease(SECONDS, text, _LEAST_S, _MOST_S)
