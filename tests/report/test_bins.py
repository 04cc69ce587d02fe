"""The bins of the lateness histogram."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.report.bins import bins

HOUR = 3_600_000


@given(
    rows=st.dictionaries(st.integers(0, 48), st.integers(1, 10**9), min_size=1),
    allowed=st.integers(0, 10**12),
)
def test_bins_cover_zero_and_the_allowed_lateness_and_never_mix_taken_rows_with_too_late_ones(
    rows: dict[int, int], allowed: int
) -> None:
    longest = (1 << max(rows)) - 1
    chosen = bins(rows, longest, allowed)
    edges = chosen.edges_ms
    assert len(edges) == len(chosen.numbers) + 1 <= 70
    assert edges[0] == 0
    assert allowed in edges
    assert edges[-1] > allowed
    assert list(edges) == sorted(set(edges))


def test_bins_are_of_a_length_people_think_in() -> None:
    assert bins({20: 100, 23: 50}, 5 * HOUR, 2 * HOUR).width_ms == 5 * 60_000


def test_one_row_from_another_decade_does_not_squeeze_all_others_into_one_bin() -> None:
    chosen = bins({22: 1000, 40: 1}, (1 << 40) - 1, 2 * HOUR)
    assert chosen.edges_ms[-1] < 3 * HOUR


@pytest.mark.parametrize("allowed", [0, HOUR])
def test_a_single_row_that_is_late_by_nothing_has_a_bin(allowed: int) -> None:
    chosen = bins({0: 1}, 0, allowed)
    assert chosen.edges_ms[0] == 0 < chosen.edges_ms[1]
