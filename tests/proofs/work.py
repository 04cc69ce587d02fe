"""The work of one pytest process: the cases to run, where to record them, and until when cases may start."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Case:
    """A case to run: its proof, its expected duration, and the patterns and the digest of what it depends on."""

    proof: str
    seconds: float
    patterns: tuple[str, ...]
    content: str


@dataclass(frozen=True)
class Work:
    """What a pytest process does. `until` is in seconds of Unix time; without it there is no limit."""

    record: str
    cases: dict[str, Case]
    until: float | None = None

    def write(self, path: Path) -> None:
        """Write the work into a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the work from a file."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        cases = {name: Case(**{**case, "patterns": tuple(case["patterns"])}) for name, case in fields["cases"].items()}
        return cls(fields["record"], cases, fields["until"])
