"""Replays of doubles on Spark have the bits of the reference, for every kind of windows and with late panes."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import Pipeline
from spark_jobs.replay import Replay, replay
from spark_jobs.replay.panes import aggregates
from spark_jobs.semantics import reference
from spark_jobs.semantics.floats.exact import exact_sum
from spark_jobs.semantics.spec import Floats
from tests.sampling import sampled
from tests.support import history
from tests.support.doubles import FAMILIES, bits
from tests.support.engine import frame_of, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = 400
END = history.START + timedelta(hours=12)
#: Aggregates that late panes continue, and aggregates that they compute again.
CONTINUED = {
    "n": "count(*)",
    "total": "sum(reading)",
    "mean": "avg(reading)",
    "mean_id": "avg(id)",
    "most": "max(reading)",
}
AGAIN = {"n": "count(*)", "total": "sum(reading)", "spread": "stddev(reading)", "readings": "collect_list(reading)"}
OF_ORDER = {"n": "count(*)", "first": "first(reading)", "last": "last(site)"}
#: Expressions around aggregates that late panes continue; the values of `exact_sum` decide on the last bits.
AROUND = {
    "rounded": "round(avg(reading), 1)",
    "ratio": "sum(reading) / nullif(count_if(reading > 0), 0)",
    "span": "max(reading) - min(reading)",
    "some": "coalesce(sum(id), 0)",
    "whole": "try_cast(sum(reading) as int)",
    "north": "count(*) filter (where site = 'north') / count(*)",
    "squares": "sqrt(avg(reading * reading)) + avg(id)",
    "sites": "concat(min(site), '-', max(site), '{}')",
    "until": "unix_micros(max(stored_at)) - unix_micros(min(happened_at))",
    "sign": "case when sum(reading) > 0 then 'up' when count(*) > 3 then 'down' end",
    "array": "transform(array(sum(reading), min(reading)), id -> id / count(*))",
}
WINDOWS = {
    "tumbling": {},
    "sliding": {"windows__kind": "sliding", "windows__slide": "4 minutes"},
    "session": {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"},
    "retracting": {"windows__accumulation": "retracting"},
    "discarding": {"windows__accumulation": "discarding"},
    "per_epoch": {"windows__late_panes": "per_epoch"},
    "continuous": {"windows__trigger": "{continuous: 3 minutes}"},
    "count": {"windows__trigger": "{count: 7}"},
}

OF_KINDS = {"continued": CONTINUED, "again": AGAIN, "of order": OF_ORDER}
QUICK = {("sliding", "continued"), ("session", "of order")}
KINDS = [
    sampled(windows, OF_KINDS[kind], quick=(windows, kind) in QUICK, id=f"{windows}-{kind}")
    for windows in WINDOWS
    for kind in OF_KINDS
]
QUICK_FAMILIES = {("specials", Floats.EXACT)}
DRAWN = [
    sampled(family, floats, quick=(family, floats) in QUICK_FAMILIES, id=f"{family}-{floats.value}")
    for family in FAMILIES
    for floats in Floats
]


QUICK_AROUND = {("session", "prices"): "comet", ("per_epoch", "small"): "spark_alone"}
AROUND_KINDS = [
    sampled(windows, family, engine, quick=QUICK_AROUND.get((windows, family)) == engine)
    for windows in WINDOWS
    for family in ("prices", "small", "specials")
    for engine in ("comet", "spark_alone")
]


def rows_of_family(family: str) -> list[dict[str, Any]]:
    """Return the small history, with readings of a family of doubles, shuffled."""
    draw = random.Random(family)
    rows = [{**row, "reading": row["reading"] and FAMILIES[family](draw)} for row in history.events(ROWS)]
    return draw.sample(rows, len(rows))


def pipeline_of(aggregates: dict[str, str], **settings: str) -> Pipeline:
    """Return a pipeline over all rows with these aggregates."""
    texts = {"windows__aggregates": json.dumps(aggregates), "source__where": "id >= 0"}
    return history.pipeline("t", **{**texts, **settings})


def replayed(spark: SparkSession, rows: list[dict[str, Any]], pipeline: Pipeline) -> Replay:
    return replay(frame_of(spark, rows, history.SCHEMA).repartition(3), pipeline, until=END)


def in_bits(rows: list[dict[str, Any]]) -> list[Any]:
    """Return rows in one order, with the bits of their values."""
    return sorted((tuple((name, bits(value)) for name, value in sorted(row.items())) for row in rows), key=str)


def assert_has_the_bits(spark: SparkSession, rows: list[dict[str, Any]], pipeline: Pipeline) -> reference.Replay:
    """Compare panes and results on Spark with those of the reference; return the reference's."""
    expected = reference.replay(rows, pipeline, until=END)
    actual = replayed(spark, rows, pipeline)
    assert in_bits(rows_of(actual.panes)) == in_bits(expected.panes)
    assert in_bits(rows_of(actual.window_results)) == in_bits(expected.window_results)
    return expected


@pytest.mark.parametrize(("windows", "aggregates"), KINDS)
def test_every_kind_of_windows_has_the_bits(spark: SparkSession, windows: str, aggregates: dict[str, str]) -> None:
    rows = rows_of_family("prices")
    expected = assert_has_the_bits(spark, rows, pipeline_of(aggregates, **WINDOWS[windows]))
    assert any(row["timing"] == "late" for row in expected.panes) or windows in ("session", "count")


@pytest.mark.parametrize(("windows", "family", "engine"), AROUND_KINDS)
def test_expressions_around_continued_aggregates_have_the_bits_of_all_rows(
    spark: SparkSession,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    windows: str,
    family: str,
    engine: str,
) -> None:
    request.getfixturevalue(engine)
    rows, pipeline = rows_of_family(family), pipeline_of(AROUND, **WINDOWS[windows])
    continued = in_bits(rows_of(replayed(spark, rows, pipeline).panes))
    monkeypatch.setattr(aggregates, "continued", lambda rows, pipeline: None)
    assert continued == in_bits(rows_of(replayed(spark, rows, pipeline).panes))


@pytest.mark.parametrize(("family", "floats"), DRAWN)
def test_every_family_of_doubles_has_the_bits(spark: SparkSession, family: str, floats: Floats) -> None:
    pipeline = pipeline_of({**CONTINUED, **AGAIN}, windows__floats=floats.value)
    assert_has_the_bits(spark, rows_of_family(family), pipeline)


@pytest.mark.parametrize(
    "windows", [sampled(kind, quick=kind == "session") for kind in ("tumbling", "sliding", "session")]
)
def test_complete_results_have_the_bits(spark: SparkSession, windows: str) -> None:
    pipeline = pipeline_of({**CONTINUED, **AGAIN}, replay__mode="complete", **WINDOWS[windows])
    rows = rows_of_family("prices")
    expected = reference.replay(rows, pipeline, until=END).complete_results
    names = ("device", "window_start", "total", "mean", "spread", "readings")
    actual = rows_of(replayed(spark, rows, pipeline).complete_results.select(*names))
    assert in_bits(actual) == in_bits([{name: row[name] for name in names} for row in expected])


def test_the_order_of_event_times_orders_lists_too(spark: SparkSession) -> None:
    rows, pipeline = rows_of_family("prices"), pipeline_of({**AGAIN, **OF_ORDER}, replay__order="event_time")
    expected = reference.replay(rows, pipeline)
    actual = replay(frame_of(spark, rows, history.SCHEMA).repartition(3), pipeline)
    assert in_bits(rows_of(actual.panes)) == in_bits(expected.panes)


def test_values_that_use_the_firing_are_exact(spark: SparkSession) -> None:
    rows = rows_of_family("prices")
    pipeline = pipeline_of({"n": "count(*)", "total": "sum(reading * unix_seconds(window_end))"})
    expected = reference.replay(rows, pipeline, until=END, aggregates={"total": total_by_end})
    assert in_bits(rows_of(replayed(spark, rows, pipeline).panes)) == in_bits(expected.panes)


def test_a_condition_guards_the_values_that_the_census_measures(spark: SparkSession) -> None:
    texts = {"ratio": "sum(reading / id) filter (where id <> 0)", "n": "count(*)"}
    texts["mean"] = "avg(cast(site as double)) filter (where site rlike '^[0-9.]+$')"
    rows = [{**row, "site": "1.5" if row["id"] % 2 else row["site"]} for row in rows_of_family("prices")]
    pipeline = pipeline_of(texts)
    expected = reference.replay(rows, pipeline, until=END, aggregates={"ratio": ratio, "mean": mean_site})
    assert in_bits(rows_of(replayed(spark, rows, pipeline).panes)) == in_bits(expected.panes)


def ratio(rows: Any) -> float | None:
    """Return the exact sum of readings, each divided by its number if that is not 0."""
    values = [row["reading"] / row["id"] for row in rows if row["id"] and row["reading"] is not None]
    return exact_sum(values) if values else None


def mean_site(rows: Any) -> float | None:
    """Return the mean of sites that are numbers, which are all 1.5."""
    return 1.5 if any(row["site"] == "1.5" for row in rows) else None


def test_rows_that_differ_in_the_sign_of_a_zero_have_an_order(spark: SparkSession) -> None:
    texts = {"first": "first(reading)", "last": "last(reading)", "readings": "collect_list(reading)"}
    more = {
        "set": "collect_set(reading)",
        "by": "max_by(reading, site)",
        "least": "min_by(cast(reading as string), 1)",
        "text": "last(cast(reading as string))",
        "top": "max(struct(site, reading))",
        "list": "min(array(reading))",
    }
    rows = [{**row, "reading": zero} for row in history.events(60) for zero in (0.0, -0.0)]
    expected = reference.replay(rows, pipeline_of(texts), until=END).panes
    in_each_order = [
        rows_of(replayed(spark, placed, pipeline_of({**texts, **more})).panes) for placed in (rows, rows[::-1])
    ]
    assert in_bits(in_each_order[0]) == in_bits(in_each_order[1])
    assert in_bits([{name: row[name] for name in expected[0]} for row in in_each_order[0]]) == in_bits(expected)


def total_by_end(rows: Any) -> float | None:
    """Return the exact sum of readings, each multiplied by the end of the window in seconds."""
    values = [row["reading"] * row["window_end"].timestamp() for row in rows if row["reading"] is not None]
    return exact_sum(values) if values else None
