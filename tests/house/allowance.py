"""Allowance: how many findings of the prose lint each file may have, in `prose_allowance.json`.

A ratchet: the number of a file falls and never grows. A file that is not listed has none. After a move `--reset` writes
the numbers under the new paths, unless their sum grows. In a merge conflict either side will do: `--lower` then writes
what is left.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.house.checkout import Place

FILE = Path("tests/house/prose_allowance.json")
Differences = dict[str, tuple[int, int]]


def counts(findings: Iterable[Place]) -> dict[str, int]:
    """Count the findings of each file."""
    return dict(sorted(Counter(place.path for place in findings).items()))


@dataclass(frozen=True)
class Allowance:
    """The allowed number of findings by file."""

    files: Mapping[str, int]

    @classmethod
    def read(cls, root: Path) -> Allowance:
        """Read the allowance of a checkout; without the file nothing is allowed."""
        file = root / FILE
        return cls(json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {})

    def write(self, root: Path) -> None:
        """Write the allowance, one file a line."""
        text = json.dumps(dict(sorted(self.files.items())), indent=2)
        (root / FILE).write_text(f"{text}\n", encoding="utf-8")

    @property
    def sum(self) -> int:
        """The number of all files together."""
        return sum(self.files.values())

    def lowered(self, present: Mapping[str, int]) -> Allowance:
        """Return the allowance without what is no longer needed; no number grows."""
        lower = {path: min(allowed, present.get(path, 0)) for path, allowed in self.files.items()}
        return Allowance({path: allowed for path, allowed in lower.items() if allowed})

    def differences(self, present: Mapping[str, int]) -> tuple[Differences, Differences]:
        """Return the files with more findings than allowed, and those with fewer, each with both numbers."""
        pairs = {path: (present.get(path, 0), self.files.get(path, 0)) for path in sorted({*present, *self.files})}
        too_many = {path: pair for path, pair in pairs.items() if pair[0] > pair[1]}
        too_high = {path: pair for path, pair in pairs.items() if pair[0] < pair[1]}
        return too_many, too_high
