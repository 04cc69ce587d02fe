"""A recorded as-of join is two inputs with their watermarks, and the rows that Flink's temporal join emitted."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from spark_jobs.pipeline.model import AsOf
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Arrival, Versioned, join_as_of
from tests.vectors.joins import JoinScenario
from tests.vectors.recorded import paired
from tests.vectors.scenarios import HERE

AS_OF_SCENARIOS = "as_of_joins.jsonl.gz"
AS_OF_RESULTS = "flink_as_of_joins.jsonl.gz"


class MatchTuple(NamedTuple):
    """An emitted row by the indices of the left row and its version (-1: none), and of the last row before it."""

    left: int
    right: int
    after_event: int


class AsOfScenario(JoinScenario):
    """A recorded as-of join."""

    @property
    def kind(self) -> AsOf:
        """Whether rows without a version are emitted."""
        return AsOf(self.declared["join"]["as_of"])

    @property
    def arrivals(self) -> list[Arrival]:
        """The rows in Flink's order; a key may be null."""
        return [
            Arrival(
                Side(event.get("side", "left")),
                event["partition"],
                event.get("key"),
                event["ts"],
                event["arrival"] * 1000,
                {"index": index, "ts": event["ts"], "marker": event.get("marker", False)},
            )
            for index, event in enumerate(self.declared["events"])
        ]

    @property
    def matches(self) -> list[MatchTuple]:
        """The rows that Flink emitted, sorted."""
        return sorted(MatchTuple(p["left"], p.get("right", -1), p["after_event"]) for p in self.recorded["pairs"])

    @property
    def late(self) -> dict[Side, list[int]]:
        """The indices of each input's rows that came at Flink's watermark or behind it, in order."""
        marks = self.watermarks
        late: dict[Side, list[int]] = {side: [] for side in Side}
        for index, event in enumerate(self.declared["events"]):
            if any(after < index and event["ts"] <= watermark for after, watermark in marks):
                late[Side(event.get("side", "left"))].append(index)
        return late

    def versioned(self) -> Versioned:
        """Join it with the reference."""
        return join_as_of(self.arrivals, self.emit, *self.sources, until_us=self.until_us)


def load_as_of_joins(
    scenarios: Path = HERE / AS_OF_SCENARIOS, results: Path = HERE / AS_OF_RESULTS
) -> list[AsOfScenario]:
    """Give every as-of join of scenarios and Flink's answers, JSON lines paired by id."""
    return [
        AsOfScenario(declared, recorded)
        for declared, recorded in paired(scenarios, results)
        if "as_of" in declared.get("join", {})
    ]


def matches_of(versioned: Versioned, kind: AsOf) -> list[MatchTuple]:
    """Return the reference's emitted rows, sorted; an inner join leaves out those without a version."""
    return sorted(
        MatchTuple(match.left.row["index"], -1 if match.right is None else match.right.row["index"], arrived - 1)
        for arrived, match, *_ in versioned.emitted
        if match.right is not None or kind is AsOf.LEFT_OUTER
    )


def late_of(versioned: Versioned, side: Side) -> list[int]:
    """Return the indices of an input's late rows, in order."""
    return [arrival.row["index"] for arrival, _ in versioned.late if arrival.side is side]
