"""Cases of Flink's own test suite for the window join and the co-group, each read to the end of the input."""

from __future__ import annotations

from itertools import zip_longest

import pytest

from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.window_join import CoGroup, Group
from spark_jobs.semantics.panes.window_operator import WindowOperator
from spark_jobs.semantics.rows.instants import MAX
from spark_jobs.semantics.windows.window_assigners import TumblingWindows
from tests.vectors.flink_cases import Case, of_schema


def groups(case: Case, *, in_turn: bool) -> list[Group[str, Case]]:
    """The groups at the end of the input; rows of both sides come in turn, or the left ones first."""
    windows = TumblingWindows(case["window"]["size_ms"], case["window"]["offset_ms"])
    cogroup: CoGroup[str, Case] = CoGroup(
        WindowOperator(windows, allowed_lateness_ms=0, discarding=False), allowed_lateness_ms=0
    )
    sides = [[(side, row) for row in case[side.value]] for side in Side]
    turns = zip_longest(*sides) if in_turn else [sides[0], sides[1]]
    for side, row in (step for turn in turns for step in turn if step is not None):
        assert cogroup.on_row(side, row["key"], row["ts"], row).groups == ()
    return cogroup.on_watermark(MAX)


@pytest.mark.parametrize("in_turn", [False, True])
@of_schema("window_join")
def test_window_join(case: Case, in_turn: bool) -> None:
    window_groups = groups(case, in_turn=in_turn)
    if case["operation"] == "cogroup":
        group_records = [
            {
                "key": group.key,
                "window_start": group.window.start,
                "left_ts": [row["ts"] for row in group.left],
                "right_ts": [row["ts"] for row in group.right],
            }
            for group in window_groups
        ]
        assert by_text(group_records) == by_text(case["expected_groups"])
    else:
        pairs = [
            {"left": [left["value"], left["ts"]], "right": [right["value"], right["ts"]]}
            for group in window_groups
            for left, right in group.pairs
        ]
        assert by_text(pairs) == by_text(case["expected_pairs"])


def by_text(records: list[Case]) -> list[Case]:
    return sorted(records, key=str)
