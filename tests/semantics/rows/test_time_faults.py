"""Why a value is no time, and how a pattern reads without its zone."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.rows import time_faults
from spark_jobs.semantics.rows.event_time import TimeReader
from spark_jobs.semantics.spec import TimeField, TimeUnit


@pytest.mark.parametrize(
    ("pattern", "shortened"),
    [
        ("yyyy-MM-dd HH:mm:ss VV", "yyyy-MM-dd HH:mm:ss"),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "yyyy-MM-dd'T'HH:mm:ss"),
        ("yyyy-MM-dd'Z'HH Z", "yyyy-MM-dd'Z'HH"),
        ("yyyy-MM-dd'X'", None),
        ("dd.MM.yyyy", None),
    ],
)
def test_a_pattern_without_its_zone(pattern: str, shortened: str | None) -> None:
    assert time_faults.without_zone(pattern) == shortened


ISO = TimeField("at", format="yyyy-MM-dd'T'HH:mm:ssXXX")
LOCAL = TimeField("at", format="dd.MM.yyyy HH:mm", timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        (ISO, None, "missing"),
        (ISO, "", "empty"),
        (ISO, " \t ", "empty"),
        (ISO, "2024-03-31T02:30:00", "without_offset"),
        (ISO, "N/A", "unreadable"),
        (LOCAL, "2024-03-31T02:30:00", "unreadable"),
        (LOCAL, "31.02.2024 10:00", "unreadable"),
        (TimeField("at", unit=TimeUnit.SECONDS), float("nan"), "unreadable"),
        (TimeField("at", unit=TimeUnit.SECONDS), 1e28, "unreadable"),
        (TimeField("at", unit=TimeUnit.SECONDS), None, "missing"),
    ],
)
def test_the_fault_of_a_value_that_is_no_time(field: TimeField, value: object, fault: str) -> None:
    reader = TimeReader(field)
    assert reader.micros({"at": value}) is None
    assert reader.fault({"at": value}) == fault
