"""The cases of the benchmark of growth: what is multiplied, and by how much.

    events       more events of the same day
    keys         the same events, of more keys
    windows      the same events, in shorter windows
    partitions   the same events, of more source partitions
    history      more days published before the day that is replayed
    late         more late rows, all of one key and window: each fires a pane

Beside them are cases that are measured once, with a pipeline that few users have:

    hot_key      one key has 30 % of all events
    decade       ten years of windows of one second, from 1,024 source partitions

A case is a process. It first replays a few events with the same pipeline, so that Java has compiled the code. Then it
replays the events of the case, and only these are measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType

from tests.benchmarks.events import Spread

#: The factors of each dimension.
FACTORS = (1, 2, 4, 8)
DEFAULT_ROWS = 1_000_000


@dataclass(frozen=True)
class Case:
    """`rows` events with their `spread`, windows of `window_ms`, and `history_days` that are published before."""

    rows: int
    spread: Spread = Spread()  # noqa: RUF009  it is frozen
    window_ms: int = 600_000
    history_days: int = 0

    @property
    def settings(self) -> dict[str, str]:
        """Return what the case changes in the benchmark's pipeline."""
        return {"windows.size": f"{self.window_ms} ms"}

    @classmethod
    def from_json(cls, text: str) -> Case:
        """Return the case that `to_json` has written."""
        values = json.loads(text)
        return cls(**{**values, "spread": Spread(**values["spread"])})

    def to_json(self) -> str:
        """Return the case as one line."""
        return json.dumps(asdict(self))


def _more_events(case: Case, factor: int) -> Case:
    return replace(case, rows=case.rows * factor)


def _more_keys(case: Case, factor: int) -> Case:
    return replace(case, spread=replace(case.spread, keys=case.spread.keys * factor))


def _shorter_windows(case: Case, factor: int) -> Case:
    return replace(case, window_ms=case.window_ms // factor)


def _more_partitions(case: Case, factor: int) -> Case:
    return replace(case, spread=replace(case.spread, partitions=case.spread.partitions * factor))


def _longer_history(case: Case, factor: int) -> Case:
    days = factor + 1
    return replace(case, rows=case.rows * days, spread=replace(case.spread, days=days), history_days=factor)


def _more_late_rows(case: Case, factor: int) -> Case:
    # Another partition would hold the watermark back.
    spread = replace(case.spread, partitions=1, in_one_window=True)
    return replace(case, rows=case.rows // 4 * factor, spread=spread)


@dataclass(frozen=True)
class Dimension:
    """One quantity that grows. `value` is its number in a case, `unit` its name."""

    unit: str
    grown: Callable[[Case, int], Case]
    value: Callable[[Case], int]


_DAY_MS = 86_400_000

DIMENSIONS: Mapping[str, Dimension] = MappingProxyType(
    {
        "events": Dimension("events", _more_events, lambda case: case.rows),
        "keys": Dimension("keys", _more_keys, lambda case: case.spread.keys),
        "windows": Dimension("windows a day", _shorter_windows, lambda case: _DAY_MS // case.window_ms),
        "partitions": Dimension("source partitions", _more_partitions, lambda case: case.spread.partitions),
        "history": Dimension("days published before", _longer_history, lambda case: case.history_days),
        "late": Dimension("rows late for one window", _more_late_rows, lambda case: case.rows),
    }
)

_DECADE_DAYS = 3_652
#: The cases that are measured once, by their name, for a number of rows.
EDGES: Mapping[str, Callable[[int], Case]] = MappingProxyType(
    {
        "hot_key": lambda rows: Case(rows, Spread(hot_share=0.3)),
        "decade": lambda rows: Case(rows, Spread(partitions=1_024, days=_DECADE_DAYS), window_ms=1_000),
    }
)
