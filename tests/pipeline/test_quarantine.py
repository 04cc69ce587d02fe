"""Expectations about the source: their conditions for broken rows, and the files that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.pipeline import PipelineError, from_mapping
from spark_jobs.pipeline.model import QuarantineRule

BASE: dict[str, Any] = {
    "name": "sales",
    "source": {"table": "t/t", "event_time": "at", "arrival_time": "stored_at"},
    "watermark": {"out_of_orderness": "1s"},
    "windows": {"size": "1h", "key": [], "aggregates": {"n": "count(*)"}},
}


def rules(*expectations: dict[str, Any], **more: Any) -> tuple[QuarantineRule, ...]:
    about_source = [{"table": "source", "on_failure": "quarantine", **each} for each in expectations]
    return from_mapping({**BASE, "quality": {"expectations": about_source}, **more}).source.quarantine


@pytest.mark.parametrize(
    ("expectation", "name", "unexpected"),
    [
        ({"type": "expect_column_values_to_not_be_null", "column": "id"}, "id_to_not_be_null", "id is null"),
        ({"type": "expect_column_values_to_be_null", "column": "old"}, "old_to_be_null", "old is not null"),
        (
            {"type": "expect_column_values_to_be_between", "column": "amount", "min_value": 0, "max_value": 9.5},
            "amount_to_be_between",
            "amount < 0 or amount > 9.5",
        ),
        (
            {"type": "expect_column_values_to_be_between", "column": "a.b", "min_value": 0, "strict_min": True},
            "a_b_to_be_between",
            "a.b <= 0",
        ),
        (
            {"type": "expect_column_values_to_be_in_set", "column": "Gerät Nr", "value_set": ["it's", "b\\c", 3]},
            "ger_t_nr_to_be_in_set",
            "not (`Gerät Nr` in ('it\\'s', 'b\\\\c', 3))",
        ),
        (
            {"type": "expect_column_values_to_not_match_regex", "column": "page", "regex": "^/x"},
            "page_to_not_match_regex",
            "page rlike '^/x'",
        ),
        (
            {"type": "expect_column_value_lengths_to_be_between", "column": "code", "max_value": 3},
            "code_value_lengths_to_be_between",
            "length(code) > 3",
        ),
        (
            {"type": "expect_rows_to_satisfy", "condition": "a <= b", "mostly": 0.9},
            "row_not_as_expected",
            "not coalesce(a <= b, false)",
        ),
        (
            {
                "type": "unexpected_rows_expectation",
                "unexpected_rows_query": "select * from {batch} where a > b;",
                "name": "a_above_b",
            },
            "a_above_b",
            "a > b",
        ),
    ],
)
def test_an_expectation_is_a_condition_for_broken_rows(expectation: dict[str, Any], name: str, unexpected: str) -> None:
    assert rules(expectation) == (QuarantineRule(name, unexpected),)


NOT_NULL = {"type": "expect_column_values_to_not_be_null", "column": "id"}


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        (
            {"type": "expect_table_row_count_to_equal", "value": 3},
            "expect_table_row_count_to_equal cannot set rows apart",
        ),
        ({"type": "expect_column_values_to_be_between", "column": "a"}, "needs min_value, max_value or both"),
        ({"type": "expect_column_values_to_not_be_null"}, "needs the argument column"),
        ({**NOT_NULL, "min_value": 1}, "has no argument min_value here; use column, mostly"),
        ({**NOT_NULL, "mostly": 3}, "found mostly 3, expected a share between 0 and 1"),
        (
            {**NOT_NULL, "name": "event_time_missing"},
            "'event_time_missing' is the reason of rows without",
        ),
        ({**NOT_NULL, "name": "Id"}, "expected a name of lower-case letters"),
        ({**NOT_NULL, "table": "panes"}, "on_failure quarantine is about rows of the source, found table panes"),
        (
            {"type": "unexpected_rows_expectation", "unexpected_rows_query": "select count(*) from {batch}"},
            "of the form SELECT \\* FROM {batch} WHERE condition",
        ),
        (
            {"type": "expect_column_values_to_be_in_set", "column": "a", "value_set": [None]},
            "found the value None, expected a text, a number, true or false",
        ),
    ],
)
def test_an_expectation_that_is_not_about_rows_is_refused(expectation: dict[str, Any], message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        rules(expectation)


def test_a_name_is_given_once() -> None:
    with pytest.raises(PipelineError, match="found the name 'id_to_not_be_null' for the second time"):
        rules(NOT_NULL, NOT_NULL)


def test_an_expectation_about_the_source_names_its_consequence() -> None:
    with pytest.raises(PipelineError, match="table source needs on_failure quarantine"):
        from_mapping({**BASE, "quality": {"expectations": [{**NOT_NULL, "table": "source"}]}})


def test_several_sources_have_no_quarantine() -> None:
    sources = [{"name": name, **BASE["source"]} for name in ("a", "b")]
    with pytest.raises(PipelineError, match="on_failure quarantine is not possible for several sources"):
        from_mapping(
            {
                **{key: value for key, value in BASE.items() if key != "source"},
                "sources": sources,
                "quality": {"expectations": [{**NOT_NULL, "table": "source", "on_failure": "quarantine"}]},
            }
        )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"replay": {"order": "offset"}}, "source.deduplicate: replay.order offset reads partitions in rounds"),
        (
            {"join": {"key": ["id"], "between": ["0s", "1s"], "second_when": "b"}, "windows": None},
            "source.deduplicate: is not possible for the inputs of a join",
        ),
    ],
)
def test_duplicates_need_one_order(more: dict[str, Any], message: str) -> None:
    document = {**BASE, "source": {**BASE["source"], "deduplicate": ["id"]}, **more}
    with pytest.raises(PipelineError, match=message):
        from_mapping({key: value for key, value in document.items() if value is not None})


def test_rules_and_names_of_rows_change_the_fingerprint() -> None:
    plain = from_mapping(BASE)
    named = from_mapping({**BASE, "source": {**BASE["source"], "deduplicate": ["id"]}})
    about_source = {**NOT_NULL, "table": "source", "on_failure": "quarantine"}
    ruled = from_mapping({**BASE, "quality": {"expectations": [about_source]}})
    limited = from_mapping({**BASE, "quality": {"expectations": [{**about_source, "mostly": 0.9}]}})
    assert len({plain.fingerprint, named.fingerprint, ruled.fingerprint}) == 3
    assert limited.fingerprint == ruled.fingerprint
