"""A recorded co-group is two inputs with their watermarks, and the groups that Flink's co-group gave."""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.pipeline.model import Accumulation, Windows
from spark_jobs.semantics.joins.joining_job import Gathered, gather
from spark_jobs.semantics.joins.window_join import CoGroup
from spark_jobs.semantics.rows.events import Row
from spark_jobs.semantics.streaming_job import operator
from tests.vectors.joins import JoinScenario
from tests.vectors.recorded import paired
from tests.vectors.scenarios import HERE


class CoGroupTuple(NamedTuple):
    """A group at its event time, by the indices of its rows; `after_event` is the row after which it fired."""

    key: str
    ts: int
    after_event: int
    left: tuple[int, ...]
    right: tuple[int, ...]


class CoGroupScenario(JoinScenario):
    """A recorded co-group."""

    @property
    def windows(self) -> Windows:
        """The windows of both sides."""
        window = self.declared["window"]
        return Windows(
            kind=window["kind"],
            size_ms=window.get("size_ms", 0),
            gap_ms=window.get("gap_ms", 0),
            slide_ms=window.get("slide_ms", 0),
            offset_ms=window.get("offset_ms", 0),
            allowed_lateness_ms=self.declared["allowed_lateness_ms"],
            accumulation=Accumulation(self.declared["accumulation"]),
        )

    @property
    def groups(self) -> list[CoGroupTuple]:
        """Flink's groups, sorted; where sessions have merged, Flink's rows are not in the order in which they came."""
        return sorted(
            CoGroupTuple(
                g["key"], g["timestamp"], g["after_event"], tuple(sorted(g["left"])), tuple(sorted(g["right"]))
            )
            for g in self.recorded["groups"]
        )

    def gathered(self) -> Gathered:
        """What the reference makes of it."""
        cogroup: CoGroup[str, Row] = CoGroup(
            operator(self.windows), allowed_lateness_ms=self.windows.allowed_lateness_ms
        )
        return gather(self.arrivals, cogroup, self.emit, *self.sources, until_us=self.until_us)


def load_cogroups() -> list[CoGroupScenario]:
    """Give every recorded co-group."""
    recorded = paired(HERE / "cogroups.jsonl.gz", HERE / "flink_cogroups.jsonl.gz")
    return [CoGroupScenario(declared, answer) for declared, answer in recorded]
