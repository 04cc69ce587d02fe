"""Guesses of what columns mean, by types, names and statistics."""

from __future__ import annotations

import pytest

from spark_jobs.jobs.advise.column_roles import (
    Facts,
    Moment,
    epoch_unit,
    key,
    pipeline_name,
    source_partition,
    tie_break,
    times,
)
from spark_jobs.pipeline.model import TimeUnit

NOW_S = 1_700_000_000


@pytest.mark.parametrize(
    ("name", "least", "most", "unit"),
    [
        ("ts", NOW_S, NOW_S + 9, TimeUnit.SECONDS),
        ("event_time", NOW_S * 10**3, NOW_S * 10**3 + 9, TimeUnit.MILLISECONDS),
        ("created_at", NOW_S * 10**6, NOW_S * 10**6 + 9, TimeUnit.MICROSECONDS),
        ("eventTs", NOW_S, NOW_S, TimeUnit.SECONDS),
        ("stamp_ns", NOW_S * 10**9, NOW_S * 10**9 + 9, TimeUnit.NANOSECONDS),
        ("ts", 0, NOW_S, None),
        ("ts", None, None, None),
        ("amount", NOW_S, NOW_S, None),
        ("cats", NOW_S, NOW_S, None),
        ("ts", NOW_S, NOW_S * 10**3, None),
    ],
)
def test_the_unit_of_integers_follows_from_their_size(
    name: str, least: int | None, most: int | None, unit: TimeUnit | None
) -> None:
    assert epoch_unit(name, least, most) == unit


def moments(*names: str, rises: str = "", filled: int = 100) -> Facts:
    return Facts(100, [Moment(n, filled, rises=n == rises if rises else None) for n in names])


def test_the_time_that_never_goes_back_between_commits_is_the_arrival() -> None:
    event, arrival = times(moments("a", "b", rises="a"))
    assert (event.column, arrival.column) == ("b", "a")
    assert "never goes back" in arrival.why


def test_the_later_time_is_the_arrival() -> None:
    facts = Facts(100, [Moment("a", 100), Moment("b", 100)], not_before={("b", "a"): 1.0, ("a", "b"): 0.01})
    event, arrival = times(facts)
    assert (event.column, arrival.column) == ("b", "a")
    assert arrival.why == "is not before b in 100.00% of the rows"


@pytest.mark.parametrize(("names", "index"), [(("x", "ingested_at"), 1), (("received", "happened"), 0)])
def test_names_decide_column_roles_if_no_value_does(names: tuple[str, ...], index: int) -> None:
    assert times(moments(*names))[1].column == names[index]


def test_of_two_times_before_the_arrival_the_nearer_is_the_event_time() -> None:
    facts = Facts(
        100,
        [Moment("planned", 100), Moment("left", 100), Moment("landed", 100)],
        not_before={("planned", "landed"): 1.0, ("left", "landed"): 1.0, ("planned", "left"): 0.6},
        mean_ms={("planned", "landed"): 9_000.0, ("left", "landed"): 5_000.0},
    )
    event, arrival = times(facts)
    assert (event.column, arrival.column, event.others) == ("left", "landed", ("planned",))


def test_a_time_alone_has_no_arrival() -> None:
    event, arrival = times(moments("a"))
    assert (event.column, arrival.column) == ("a", None)


def columns(**distinct: int) -> Facts:
    texts = frozenset(name for name in distinct if name != "number")
    return Facts(10_000, [Moment("ts", 10_000)], distinct, texts)


def test_a_source_partition_has_few_values_and_is_called_one() -> None:
    assert source_partition(columns(site=3, carrier=2)).column == "site"
    guess = source_partition(columns(carrier=16, site=1, region=65))
    assert (guess.column, guess.others) == (None, ("carrier",))


def test_a_key_is_text_with_many_rows_of_each_value() -> None:
    assert key(columns(number=3, site=4, carrier=16, flight=9_990), "site").column == "carrier"
    assert key(columns(number=3, flight=9_990), None).column == "number"
    assert key(columns(flight=9_990), None).column is None


@pytest.mark.parametrize("name", ["window_start", "a b", "__tm_x", "row_count"])
def test_columns_that_results_may_not_have_are_no_keys(name: str) -> None:
    assert key(columns(**{name: 5}), None).column is None


def test_ties_are_broken_by_what_has_a_value_for_each_row() -> None:
    assert tie_break(columns(site=3, flight=9_990)).column == "flight"
    assert tie_break(columns(site=3)).column is None


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("s3://lake/raw/Flights-2013/", "flights_2013"),
        ("main.raw.Orders", "orders"),
        ("./2013", "table_2013"),
        ("/lake/___", "table"),
        ("lake/" + "a" * 200, "a" * 100),
    ],
)
def test_a_pipeline_is_named_after_its_table(table: str, name: str) -> None:
    assert pipeline_name(table) == name
