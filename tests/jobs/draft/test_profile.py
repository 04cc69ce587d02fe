"""The profile: which readings are compared, and which reading of a leaf is the best."""

from __future__ import annotations

from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.jobs.draft.profile import MOST_COMPARED, Moment, best, compared
from spark_jobs.jobs.draft.readings import Reading
from spark_jobs.pipeline.model import TimeField


def reading(name: str, pattern: str | None = None) -> Reading:
    return Reading(Leaf((name,), T.StringType()), TimeField(name, format=pattern))


def test_the_best_reading_of_a_leaf_reads_the_most_rows() -> None:
    days, months = (Moment(reading("a", pattern), read) for pattern, read in (("dd/MM", 5), ("MM/dd", 9)))
    (moment,) = best([days, months])
    assert (moment.reading.field.format, moment.rival) == ("MM/dd", None)


def test_a_reading_of_as_many_rows_is_a_rival() -> None:
    (moment,) = best([Moment(reading("a", "dd/MM"), 9), Moment(reading("a", "MM/dd"), 9)])
    assert (moment.reading.field.format, moment.rival) == ("dd/MM", "MM/dd")


def test_times_with_the_likeliest_names_and_those_of_the_user_are_compared() -> None:
    every = [reading(name) for name in (*(f"phase{n}" for n in range(20)), "mine", "received", "happened")]
    names = {every[i].column for pair in compared(every, {"mine": "--event-time"}) for i in pair}
    assert len(names) == MOST_COMPARED
    assert {"mine", "received", "happened"} <= names


def test_two_readings_of_one_leaf_are_no_pair() -> None:
    assert compared([reading("a", "dd/MM"), reading("a", "MM/dd")], {}) == []
