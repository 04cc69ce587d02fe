"""Text forms: patterns that Spark and the reference read, from values."""

from __future__ import annotations

import pytest

from spark_jobs.jobs.draft.text_forms import text_forms, unreadable
from spark_jobs.semantics.rows.text_times import parse


@pytest.mark.parametrize(
    ("values", "patterns"),
    [
        (["2024-03-31T01:59:00+01:00", "2024-03-31T03:00:00Z"], ["yyyy-MM-dd'T'HH:mm:ssXXX"]),
        (["2024-03-31 01:59:00.123", "2024-03-31 01:59:00.456"], ["yyyy-MM-dd HH:mm:ss.SSS"]),
        (["2024-03-31 01:59:00.123456", "2024-03-31 01:59:00"], ["yyyy-MM-dd HH:mm:ss[.SSSSSS]"]),
        (["31.03.2024 01:59"], ["dd.MM.yyyy HH:mm"]),
        (["01/02/2024 10:00", "31/02/2024 10:00"], ["dd/MM/yyyy HH:mm"]),
        (["01/31/2024 10:00", "01/02/2024 10:00"], ["MM/dd/yyyy HH:mm"]),
        (["01/02/2024", "03/04/2024"], ["dd/MM/yyyy", "MM/dd/yyyy"]),
        (["1/31/2024 9:05 AM", "11/30/2024 12:05 PM"], ["M/d/yyyy h:mm a"]),
        (["20240331"], ["yyyyMMdd"]),
        (["20240331T015900Z"], ["yyyyMMdd'T'HHmmssXXX"]),
        (["20240331015900"], ["yyyyMMddHHmmss"]),
        (["2024-03-31 01:59:00 Europe/Berlin"], ["yyyy-MM-dd HH:mm:ss VV"]),
        (["2024-03-31 01:59:00+0100"], ["yyyy-MM-dd HH:mm:ssXX"]),
        (["2024-03-31", "N/A", "2024-04-01"], ["yyyy-MM-dd"]),
        (["N/A", "unknown", "2024-04-01"], []),
        (["12,5", "EUR", "u7", "10.0.0.1"], []),
        ([], []),
    ],
)
def test_the_pattern_follows_from_the_most_common_shape(values: list[str], patterns: list[str]) -> None:
    forms = text_forms(values)
    assert [form.pattern for form in forms] == patterns
    if forms and "[" not in forms[0].pattern:
        assert parse(values[0], forms[0].pattern, "UTC") is not None


def test_a_form_with_an_offset_needs_no_zone() -> None:
    assert text_forms(["2024-03-31T03:00:00Z"])[0].has_zone
    assert not text_forms(["2024-03-31T03:00:00"])[0].has_zone


def test_the_reason_names_what_no_pattern_reads() -> None:
    assert "weeks" in str(unreadable(["2024-W05-3", "2024-W06-1"]))
    assert "month" in str(unreadable(["02 Jan 2024 10:00", "Jan 2, 2024"]))
    assert unreadable(["EUR", "USD"]) is None
