"""How values of several keys and windows become one point of a chart."""

from __future__ import annotations

import pytest

from spark_jobs.report.data import Combined
from spark_jobs.report.results_over_time import combined


@pytest.mark.parametrize(
    ("expression", "manner"),
    [
        ("count(*)", Combined.SUM),
        ("COUNT ( * )", Combined.SUM),
        ("count(distinct tailnum)", Combined.SUM),
        ("count(*) filter (where dep_delay > 15)", Combined.SUM),
        ("sum(coalesce(a, b) * (1 + c))", Combined.SUM),
        ("sum(case when x = ')' then 1 else a end)", Combined.SUM),
        ("sum(`a) / (b`)", Combined.SUM),
        ("min(dep_delay)", Combined.SMALLEST),
        ("max(dep_delay)", Combined.LARGEST),
        ("avg(dep_delay)", Combined.MEAN),
        ("percentile(dep_delay, 0.5)", Combined.MEAN),
        ("sum(late) / count(*)", Combined.MEAN),
        ("sum(a) - (sum(b))", Combined.MEAN),
        ("1 + count(*)", Combined.MEAN),
        ("-sum(a)", Combined.MEAN),
        ("a", Combined.MEAN),
    ],
)
def test_only_what_adds_up_is_added_up(expression: str, manner: Combined) -> None:
    assert combined(expression) is manner
