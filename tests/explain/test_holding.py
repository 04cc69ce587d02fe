"""The partitions that hold the watermark back are the active ones with the least watermark, and idle ones are named."""

from __future__ import annotations

import pytest

from spark_jobs.explain.holding import listed
from spark_jobs.semantics.rows.instants import MIN

# Watermarks, the combined one, the idle partitions, and those that hold back.
CASES = {
    "the slowest of two": ({"p0": 10, "p1": 20}, 10, (), {"p0"}),
    "two of three": ({"p0": 10, "p1": 10, "p2": 20}, 10, (), {"p0", "p1"}),
    "all alike": ({"p0": 10, "p1": 10}, 10, (), set()),
    "alone": ({"p0": 10}, 10, (), set()),
    "none has spoken": ({"p0": MIN, "p1": MIN}, MIN, (), set()),
    "a declared partition is silent": ({"p0": 10, "p1": MIN}, MIN, (), {"p1"}),
    "a partition joined behind the watermark": ({"p0": 120, "p1": 5}, 30, (), {"p1"}),
    "the partition behind is idle": ({"p0": 40, "p1": 5}, 40, ("p1",), set()),
    "an idle partition is level": ({"p0": 10, "p1": 10, "p2": 20}, 10, ("p1",), {"p0"}),
    "the further partition is idle": ({"p0": 10, "p1": 20}, 10, ("p1",), {"p0"}),
    "all are idle": ({"p0": 10, "p1": 20}, 20, ("p0", "p1"), set()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_active_partitions_with_the_least_watermark_hold_back(name: str) -> None:
    watermarks, combined, idle, holding = CASES[name]
    partitions = listed(watermarks, combined, frozenset(idle), is_united=False)
    assert [each.source_partition for each in partitions] == sorted(watermarks)
    assert {each.source_partition for each in partitions if each.holds_back} == holding
    assert {each.source_partition for each in partitions if each.is_idle} == set(idle)


def test_each_of_several_sources_has_the_partitions_that_hold_it_back() -> None:
    watermarks = {"a|x": 10, "a|y": 30, "b": 20}
    partitions = listed(watermarks, 10, frozenset(), is_united=True)
    assert [each.source_partition for each in partitions if each.holds_back] == ["a|x"]
    # Source `a` stays at 25 for x, and source `b` decides.
    partitions = listed(watermarks, 20, frozenset(), is_united=True)
    assert [each.source_partition for each in partitions if each.holds_back] == ["a|x", "b"]


def test_where_idleness_is_unknown_only_what_a_rise_proves_is_named() -> None:
    behind, at_it, ahead = listed({"p0": 5, "p1": 10, "p2": 20}, 10, None, is_united=False)
    assert (behind.is_idle, at_it.is_idle, ahead.is_idle) == (True, None, None)
    assert [each.holds_back for each in (behind, at_it, ahead)] == [False, True, False]
    # Either of two may be the one that is active.
    assert not any(each.holds_back for each in listed({"p0": 10, "p1": 10, "p2": 20}, 10, None, is_united=False))
    jumped = listed({"p0": 5, "p1": 20}, 20, None, is_united=False)
    assert [(each.holds_back, each.is_idle) for each in jumped] == [(False, True), (False, None)]
    assert [each.is_idle for each in listed({"a": 5, "b": 10}, 10, None, is_united=True)] == [None, None]
