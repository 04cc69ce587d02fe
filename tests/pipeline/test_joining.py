"""A joining pipeline takes only inputs that go together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.pipeline.joining import JoiningPipeline, JoinInput
from spark_jobs.pipeline.model import Emit, EmitKind, Source, TimeField, Watermark, Windows

INPUT = JoinInput(Source("orders", TimeField("ordered_at")), Watermark(), ("order_id",))


def test_keys_are_compared_one_by_one() -> None:
    with pytest.raises(ValueError, match="1 key columns on the left and 2 on the right"):
        JoiningPipeline("joined", INPUT, replace(INPUT, key=("a", "b")))


def test_one_source_alone_is_split() -> None:
    JoiningPipeline("joined", INPUT, replace(INPUT, key=("paid_for",)), right_when="kind = 'payment'")
    other = replace(INPUT, source=replace(INPUT.source, table="payments"))
    with pytest.raises(ValueError, match="which splits one source, and two sources"):
        JoiningPipeline("joined", INPUT, other, right_when="kind = 'payment'")


def test_both_inputs_are_read_by_one_clock_of_emissions() -> None:
    emit = Emit(EmitKind.EVERY, interval_ms=1000)
    joined = JoiningPipeline("joined", INPUT, INPUT, emit=emit)
    assert [joined.of(join_input, Windows(size_ms=5)).watermark.emit for join_input in joined.inputs] == [emit, emit]
