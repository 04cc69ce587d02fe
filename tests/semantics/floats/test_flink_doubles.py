"""Sums of doubles in the order of arrival have the bits of Flink's sums, pane by pane.

`flink_doubles.jsonl.gz` has random doubles for the rows of recorded scenarios with tumbling and sliding windows, and
the sum of each pane of Flink 2.3.0's `WindowOperator`. Its `AggregateFunction` adds each row to one double.

    python -m tests.semantics.floats.test_flink_doubles SCENARIOS            writes the scenarios for the Flink oracle
    python -m tests.semantics.floats.test_flink_doubles SCENARIOS ANSWERS    takes the answers in
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.pipeline.model import Aggregate, Floats
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.instants import micros
from tests.support.doubles import any_bits, edge, mixed, price, small
from tests.vectors.recorded import lines
from tests.vectors.scenarios import Scenario, load_for_reference

RECORD = Path(__file__).with_name("flink_doubles.jsonl.gz")
FAMILIES = {"prices": price, "small": small, "mixed": mixed, "edges": edge, "any bits": any_bits}
_LEAST_ROWS, _CASES = 20, 120

Sums = dict[tuple[str, int, int], float]


def with_doubles(scenario: Scenario, values: list[float]) -> Scenario:
    """Return a scenario whose rows have other values."""
    events = [{**event, "value": value} for event, value in zip(scenario.declared["events"], values, strict=True)]
    return Scenario({**scenario.declared, "events": events}, scenario.recorded)


def sums(scenario: Scenario, floats: Floats) -> Sums:
    """Return the sum of each pane of the reference, by key, window start in milliseconds and pane."""
    windows = replace(scenario.pipeline.windows, floats=floats, aggregates=(Aggregate("total", "sum(value)"),))
    panes = reference.replay(scenario.rows, replace(scenario.pipeline, windows=windows), until=scenario.until).panes
    return {(row["key"], micros(row["window_start"]) // 1000, row["pane_index"]): row["total"] for row in panes}


@pytest.fixture(name="scenarios", scope="module")
def _scenarios() -> dict[str, Scenario]:
    return {scenario.id: scenario for scenario in load_for_reference()}


@pytest.mark.parametrize("recorded", lines(RECORD), ids=lambda case: str(case["id"]))
def test_a_sum_in_the_order_of_arrival_has_the_bits_of_flink(
    scenarios: dict[str, Scenario], recorded: dict[str, Any]
) -> None:
    scenario = with_doubles(scenarios[recorded["id"]], recorded["values"])
    # The record has no sign of a zero. All other doubles that are equal have the same bits.
    expected = {(key, start, index): float(total) for key, start, index, total in recorded["sums"]}
    assert sums(scenario, Floats.ARRIVAL_ORDER) == expected


def test_the_order_decides_on_many_of_these_sums(scenarios: dict[str, Scenario]) -> None:
    differing = 0
    for recorded in lines(RECORD):
        exact = sums(with_doubles(scenarios[recorded["id"]], recorded["values"]), Floats.EXACT)
        differing += sum(exact[key, start, index] != float(total) for key, start, index, total in recorded["sums"])
    assert differing == 100


def _drawn() -> Iterator[Scenario]:
    recorded = [s for s in load_for_reference() if s.declared["window"]["kind"] != "session"]
    draw = random.Random(11)
    for number, scenario in enumerate(draw.sample([s for s in recorded if len(s.rows) >= _LEAST_ROWS], _CASES)):
        family = [*FAMILIES.values()][number % len(FAMILIES)]
        yield with_doubles(scenario, [family(draw) for _ in scenario.rows])


def main(scenarios: str, answers: str | None = None) -> None:
    """Write the scenarios, or with Flink's answers the record."""
    drawn = {scenario.id: scenario for scenario in _drawn()}
    if answers is None:
        Path(scenarios).write_text("".join(json.dumps(s.declared) + "\n" for s in drawn.values()), encoding="utf-8")
        return
    with gzip.GzipFile(RECORD, "wb", mtime=0) as record:
        for answer in lines(Path(answers)):
            events = drawn[answer["id"]].declared["events"]
            totals = [[pane["key"], pane["start"], pane["pane_index"], pane["sum"]] for pane in answer["panes"]]
            line = {"id": answer["id"], "values": [event["value"] for event in events], "sums": totals}
            record.write(json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
