"""The record of all cases that have run: one JSON object a line, added when the case ends and never changed.

A process that is killed while it adds a line leaves the start of a line, which is no JSON and is passed over.
The next process ends that line before it adds its own. Several processes may add lines at once: each line is added
under a lock. Records of several machines are joined by `cat`.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


def now() -> str:
    """Return the time in UTC, as text that sorts by time."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def machine() -> str:
    """Return the name of this machine and the number of its cores."""
    return f"{platform.node()}, {os.cpu_count()} cores"


@dataclass(frozen=True)
class Entry:
    """A case that has run. `content` is the digest of its dependencies, and is empty if they changed meanwhile."""

    proof: str
    case: str
    outcome: str
    seconds: float
    content: str
    at: str = field(default_factory=now)
    machine: str = field(default_factory=machine)


class Record:
    """The file at `path`. It is made, with its folder, when the first line is added.

    `committed_file` has the same form and is committed with the code. It is read as well. Only `keep` changes it.
    """

    def __init__(self, path: Path, committed_file: Path | None = None) -> None:
        self._path, self._committed_file = path, committed_file

    def add(self, entry: Entry) -> None:
        """Add a case that has run."""
        self._append(asdict(entry))

    def entries(self) -> list[Entry]:
        """Return all cases that have run, the oldest first."""
        entries = [Entry(**line) for line in self._lines() if "case" in line]
        return sorted(entries, key=lambda entry: entry.at)

    def moment(self, key: str) -> str:
        """Return the time at which `key` was first moments; mark it now if it was not."""
        moments = [line["at"] for line in self._lines() if line.get("mark") == key]
        if moments:
            return str(min(moments))
        mark = {"mark": key, "at": now()}
        self._append(mark)
        return mark["at"]

    def keep(self, entries: Iterable[Entry]) -> None:
        """Write the entries into the file that is committed with the code, one line each, sorted by case.

        Raises `ValueError` if the record has no such file.
        """
        if self._committed_file is None:
            raise ValueError(f"The record {self._path} has no file that is committed with the code.")
        lines = [json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in sorted(entries, key=_proof_and_case)]
        with tempfile.NamedTemporaryFile("w", dir=self._committed_file.parent, delete=False, encoding="utf-8") as file:
            file.write("".join(lines))
        Path(file.name).chmod(0o644)
        Path(file.name).replace(self._committed_file)

    def _append(self, line: dict[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(line, ensure_ascii=False) + "\n"
        file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = os.lseek(file, 0, os.SEEK_END)
            is_torn = end > 0 and os.pread(file, 1, end - 1) != b"\n"
            os.write(file, (("\n" if is_torn else "") + text).encode())
        finally:
            os.close(file)

    def _lines(self) -> Iterator[dict[str, Any]]:
        for path in (self._committed_file, self._path):
            if path is not None and path.exists():
                yield from _objects(path.read_bytes())


def _objects(text: bytes) -> Iterator[dict[str, Any]]:
    for line in text.split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _proof_and_case(entry: Entry) -> tuple[str, str]:
    return entry.proof, entry.case


def latest(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return the last entry of each case, by the case's id. A case that was skipped did not run."""
    return {entry.case: entry for entry in entries if entry.outcome != SKIPPED}


def durations(entries: Iterable[Entry]) -> dict[str, float]:
    """Return the last duration in seconds of each case, by the case's id."""
    return {case: entry.seconds for case, entry in latest(entries).items()}


def usual_duration(seconds: Iterable[float], default: float) -> float:
    """Return the mean of the durations that are known, in seconds, or else the default."""
    known_durations = list(seconds)
    return fmean(known_durations) if known_durations else default
