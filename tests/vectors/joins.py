"""A recorded join is two inputs with their watermarks, and the pairs and late rows that Flink's interval join gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from spark_jobs.pipeline.model import Emit
from spark_jobs.semantics.joins.interval_join import JoinBounds, Side
from spark_jobs.semantics.joins.joining_job import Arrival, Joined, JoinSource, join
from tests.vectors.recorded import paired
from tests.vectors.scenarios import HERE, RESULTS, SCENARIOS, Recorded, emission, watermark


class PairTuple(NamedTuple):
    """A pair by the indices of its rows, and the index of the row with which it appeared."""

    left: int
    right: int
    left_ts: int
    right_ts: int
    ts: int
    after_event: int


class JoinScenario(Recorded):
    """A recorded join, or anything else of two inputs."""

    def joined(self) -> Joined:
        """What the reference makes of it."""
        return join(self.arrivals, self.bounds, self.emit, *self.sources, until_us=self.until_us)

    @property
    def until_us(self) -> int | None:
        """How far the clock went after the last row."""
        until: int | None = self.declared.get("end_ms")
        return None if until is None else until * 1000

    @property
    def bounds(self) -> JoinBounds:
        """How near rows must be."""
        declared = self.declared["join"]
        inclusive = (declared.get("lower_inclusive", True), declared.get("upper_inclusive", True))
        return JoinBounds(declared["lower_ms"], declared["upper_ms"], *inclusive)

    @property
    def emit(self) -> Emit:
        """When the watermarks are emitted."""
        return emission(self.declared)

    @property
    def sources(self) -> tuple[JoinSource, JoinSource | None]:
        """The left source and the right one; None if both inputs are one source's."""
        declared = self.declared["join"]
        if declared.get("shared_source"):
            return self._source(self.emit, None, None), None
        return self._source(self.emit, "left", None), self._source(self.emit, "right", declared.get("right_strategy"))

    @property
    def pairs(self) -> list[PairTuple]:
        """Flink's pairs, sorted."""
        return sorted(
            PairTuple(p["left"], p["right"], p["left_ts"], p["right_ts"], p["timestamp"], p["after_event"])
            for p in self.recorded["pairs"]
        )

    @property
    def watermarks(self) -> list[tuple[int, int]]:
        """Each watermark of Flink's operator, with the index of the row after which it came."""
        return [(mark["after_event"], mark["watermark"]) for mark in self.recorded["watermarks"]]

    @property
    def arrivals(self) -> list[Arrival]:
        """The rows in Flink's order."""
        return [
            Arrival(
                Side(event.get("side", "left")),
                event["partition"],
                event["key"],
                event["ts"],
                event["arrival"] * 1000,
                {"index": index, "ts": event["ts"], "marker": event.get("marker", False)},
            )
            for index, event in enumerate(self.declared["events"])
        ]

    def _source(self, emit: Emit, side: str | None, strategy: Mapping[str, Any] | None) -> JoinSource:
        declared = replace(
            watermark(strategy or self.declared["strategy"], emit), idle_timeout_ms=self.declared.get("idle_timeout_ms")
        )
        if self.declared.get("register") == "lazy":
            return JoinSource(declared)
        partitions = {e["partition"] for e in self.declared["events"] if side is None or e.get("side", "left") == side}
        named = (
            self.declared.get("partitions", ()) if side is None else self.declared["join"].get(f"{side}_partitions", ())
        )
        return JoinSource(declared, tuple(sorted(partitions.union(named))))


def load_joins(scenarios: Path = HERE / SCENARIOS, results: Path = HERE / RESULTS) -> list[JoinScenario]:
    """Give every interval join of scenarios and Flink's answers, JSON lines paired by id."""
    return [
        JoinScenario(declared, recorded)
        for declared, recorded in paired(scenarios, results)
        if "lower_ms" in declared.get("join", {})
    ]


def pairs_of(joined: Joined) -> list[PairTuple]:
    """The reference's pairs, sorted."""
    return sorted(
        PairTuple(p.left["index"], p.right["index"], p.left_ts, p.right_ts, p.ts, arrived - 1)
        for arrived, p in joined.pairs
    )


def late_of(joined: Joined, side: Side) -> list[int]:
    """The indices of an input's late rows, in order."""
    return [arrival.row["index"] for arrival in joined.late if arrival.side is side]
