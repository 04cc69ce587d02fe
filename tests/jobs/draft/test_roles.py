"""Guesses of what columns are for, by names and numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.jobs.draft.profile import Moment, Pair, Profile, Values
from spark_jobs.jobs.draft.readings import Reading
from spark_jobs.jobs.draft.roles import alone, key, source_partition, tie_break, times, without_role
from spark_jobs.pipeline.model import TimeField

ROWS = 10_000


def moment(name: str, read: int = ROWS, step: str = "second", rises: float | None = None) -> Moment:
    leaf = Leaf((name,), T.TimestampType())
    return Moment(Reading(leaf, TimeField(name)), read, step=step, rises=rises)


def profile(*moments: Moment, pairs: dict[tuple[str, str], Pair] | None = None, **distinct: int) -> Profile:
    kinds = {name: T.LongType() if name.startswith("number") else T.StringType() for name in distinct}
    leaves = {m.column: m.reading.leaf for m in moments} | {name: Leaf((name,), kinds[name]) for name in distinct}
    values = {name: Values(count) for name, count in distinct.items()}
    return Profile(ROWS, moments or (moment("ts"),), values, pairs or {}, leaves, {})


def ordered(*names: str) -> dict[tuple[str, str], Pair]:
    """Pairs of which the first is never after the second."""
    pairs: dict[tuple[str, str], Pair] = {}
    for i, first in enumerate(names):
        for distance, second in enumerate(names[i + 1 :], 1):
            pairs[first, second], pairs[second, first] = Pair(1.0, distance), Pair(0.0, -distance)
    return pairs


def test_the_time_that_never_goes_back_between_commits_is_the_arrival() -> None:
    event, arrival = times(profile(moment("a", rises=1.0), moment("b", rises=0.2)))
    assert (event.column, arrival.column) == ("b", "a")
    assert "never goes back" in arrival.why


def test_an_arrival_that_goes_back_in_few_commits_is_an_arrival() -> None:
    _, arrival = times(profile(moment("a", rises=0.95), moment("b", rises=0.5)))
    assert arrival.column == "a"
    assert "95%" in arrival.why


def test_the_later_time_is_the_arrival() -> None:
    event, arrival = times(profile(moment("a"), moment("b"), pairs=ordered("b", "a")))
    assert (event.column, arrival.column) == ("b", "a")
    assert "not before b in 100.00%" in arrival.why


@pytest.mark.parametrize(("names", "index"), [(("x", "ingested_at"), 1), (("received", "happened"), 0)])
def test_names_decide_if_no_value_does_and_the_evidence_is_thin(names: tuple[str, ...], index: int) -> None:
    event, arrival = times(profile(*map(moment, names)))
    assert arrival.column == names[index]
    assert event.is_thin
    assert arrival.is_thin


def test_a_date_is_no_event_time_if_a_finer_time_exists() -> None:
    days = moment("order_day", step="day")
    event, _ = times(
        profile(days, moment("ordered"), moment("loaded"), pairs=ordered("order_day", "ordered", "loaded"))
    )
    assert (event.column, event.alternatives) == ("ordered", ("order_day",))


def test_a_time_that_few_rows_have_is_no_event_time() -> None:
    rare = moment("scanned", read=100)
    event, _ = times(profile(rare, moment("sorted"), moment("loaded"), pairs=ordered("scanned", "sorted", "loaded")))
    assert event.column == "sorted"


def test_of_two_times_before_the_arrival_the_nearer_is_the_event_time_and_the_evidence_is_thin() -> None:
    event, arrival = times(
        profile(moment("planned"), moment("left"), moment("landed"), pairs=ordered("planned", "left", "landed"))
    )
    assert (event.column, arrival.column, event.alternatives) == ("left", "landed", ("planned",))
    assert event.is_thin


def test_the_columns_that_the_user_chose_are_taken() -> None:
    table = profile(moment("planned"), moment("left"), moment("landed"), pairs=ordered("planned", "left", "landed"))
    event, arrival = times(table, event="planned")
    assert (event.column, arrival.column, event.is_thin) == ("planned", "landed", False)


def test_a_pattern_that_reads_as_many_rows_makes_the_event_time_thin() -> None:
    table = profile(
        replace(moment("happened"), rival="MM/dd/yyyy"), moment("loaded"), pairs=ordered("happened", "loaded")
    )
    event, _ = times(table)
    assert event.is_thin
    assert "MM/dd/yyyy reads as many" in event.why
    assert not times(profile(moment("happened"), moment("loaded"), pairs=ordered("happened", "loaded")))[0].is_thin


def test_a_time_alone_has_no_arrival_and_the_user_has_to_choose() -> None:
    event, arrival = times(profile(moment("a")))
    assert (event.column, arrival.column, arrival.is_thin) == ("a", None, True)
    assert "the only time" in event.why
    assert alone(profile(moment("a", step="day"), moment("b"))).column == "b"


def test_a_source_partition_has_few_values_and_is_called_one() -> None:
    guess = source_partition(profile(site=3, carrier=2))
    assert (guess.column, guess.is_thin) == ("site", True)
    guess = source_partition(profile(site=3, kafka_partition=12))
    assert (guess.column, guess.is_thin) == ("kafka_partition", False)
    guess = source_partition(profile(carrier=16, site=1, region=65))
    assert (guess.column, guess.alternatives, guess.is_thin) == (None, ("carrier",), False)


def test_a_key_is_text_with_many_rows_of_each_value_and_an_alternative_makes_it_thin() -> None:
    guess = key(profile(number=3, site=4, carrier=16, flight=9_990), ("site",))
    assert (guess.column, guess.alternatives, guess.is_thin) == ("carrier", ("number",), True)
    guess = key(profile(number=3, flight=9_990))
    assert (guess.column, guess.is_thin) == ("number", False)
    assert key(profile(flight=9_990)).column is None


def test_columns_that_begin_with_the_reserved_prefix_are_no_keys() -> None:
    assert key(profile(__tm_x=5)).column is None


def test_ties_are_broken_by_what_has_a_value_for_each_row() -> None:
    assert tie_break(profile(site=3, flight=9_990)).column == "flight"
    assert tie_break(profile(site=3)).column is None


def test_columns_without_a_role_have_the_true_reason() -> None:
    table = profile(site=3, constant=1, flight=5_000)
    reasons = without_role(table, {"key": key(table)})
    assert reasons["constant"] == "has one value"
    assert "5,000 values, too many" in reasons["flight"]
    assert "site" not in reasons
