"""Cases of Flink's own test suite for the interval join: what joins, what is late, what is still kept."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.joins.interval_join import IntervalJoin, JoinBounds, Side
from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge
from tests.vectors.flink_cases import Case, of_schema


class Inputs:
    """An interval join behind the merged watermark of its two inputs, with what it gave."""

    def __init__(self, case: Case) -> None:
        bounds = JoinBounds(case["lower_ms"], case["upper_ms"], case["lower_inclusive"], case["upper_inclusive"])
        self.join: IntervalJoin[str, Case] = IntervalJoin(bounds)
        self.merge = WatermarkMerge(self)
        for side in Side:
            self.merge.register(side.value)
        self.pairs: list[tuple[int, int, int]] = []
        self.late: list[Case] = []

    def run(self, steps: list[Case]) -> None:
        for step in steps:
            if "element" in step:
                self.element(step["element"])
            elif "watermark" in step:
                self.merge.immediate(step["watermark"]["side"]).emit_watermark(step["watermark"]["value"])
            else:
                open_rows = {f"{side.value}_ts": self.join.open_rows(side) for side in Side}
                assert open_rows == step["check_buffers"]

    def element(self, row: Case) -> None:
        outcome = self.join.on_row(Side(row["side"]), row["key"], row["ts"], row)
        self.pairs += [(pair.left_ts, pair.right_ts, pair.ts) for pair in outcome.pairs]
        self.late += [row] if outcome.is_late else []

    def emit_watermark(self, watermark: int) -> None:
        self.join.on_watermark(watermark)

    def mark_idle(self) -> None:
        raise AssertionError

    def mark_active(self) -> None:
        raise AssertionError


@pytest.mark.parametrize("steps", ["steps", "alternative_steps"])
@of_schema("interval_join")
def test_interval_join(case: Case, steps: str) -> None:
    inputs = Inputs(case)
    inputs.run(case[steps if steps in case else "steps"])
    expected = [(pair["left_ts"], pair["right_ts"], pair["output_ts"]) for pair in case["expected_pairs"]]
    assert sorted(inputs.pairs) == sorted(expected)
    late = [(row["side"], row["ts"]) for row in inputs.late]
    assert sorted(late) == sorted((row["side"], row["ts"]) for row in case["expected_late"])


@of_schema("interval_join_buffers")
def test_rows_are_kept_as_long_as_they_may_join(case: Case) -> None:
    Inputs(case).run(case["steps"])
