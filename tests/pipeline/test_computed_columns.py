"""Columns that a table lacks are declared with the source, or in the key."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.pipeline import Pipeline, PipelineError, from_mapping
from spark_jobs.pipeline.model import ComputedColumn

SOURCE = {"table": "t/x", "event_time": "ts", "arrival_time": "at"}
WINDOWS = {"size": "1 hour", "key": ["page"], "aggregates": {"n": "count(*)"}}


def pipeline(source: dict[str, Any] | None = None, windows: dict[str, Any] | None = None) -> Pipeline:
    whole = {"source": {**SOURCE, **(source or {})}, "windows": {**WINDOWS, **(windows or {})}}
    return from_mapping({"name": "p", "watermark": {"out_of_orderness": "1s"}, **whole})


def problems(source: dict[str, Any] | None = None, windows: dict[str, Any] | None = None) -> str:
    with pytest.raises(PipelineError) as refused:
        pipeline(source, windows)
    return str(refused.value)


def test_columns_of_the_source_are_kept_in_order() -> None:
    declared = pipeline({"columns": {"page": "payload.page", "Gerät": "`Gerät Nr`"}})
    assert declared.source.columns == (ComputedColumn("page", "payload.page"), ComputedColumn("Gerät", "`Gerät Nr`"))


def test_a_key_of_expressions_is_a_key_of_computed_columns() -> None:
    by_name = pipeline(windows={"key": {"page": "payload.page", "region": "meta.region"}})
    assert by_name.windows.key == ("page", "region")
    columns = {"page": "payload.page", "region": "meta.region"}
    assert by_name == pipeline({"columns": columns}, {"key": ["page", "region"]})


def test_a_key_of_expressions_is_computed_for_each_source() -> None:
    sources = [{"name": name, **SOURCE, "watermark": {"out_of_orderness": "1s"}} for name in ("web", "phones")]
    windows = {**WINDOWS, "key": {"page": "payload.page"}}
    whole = from_mapping({"name": "p", "sources": sources, "windows": windows})
    assert [u.source.columns for u in whole.sources] == [(ComputedColumn("page", "payload.page"),)] * 2


def test_computed_columns_enter_the_fingerprint_and_none_does_not() -> None:
    plain, computed = pipeline(), pipeline({"columns": {"x": "1"}})
    assert plain.fingerprint == pipeline({"columns": {}}).fingerprint
    assert len({plain.fingerprint, computed.fingerprint, pipeline({"columns": {"x": "2"}}).fingerprint}) == 3


@pytest.mark.parametrize(
    ("source", "windows", "problem"),
    [
        ({"columns": {"a": "1", "A": "2"}}, {}, "source.columns.A: found the name 'A' for the second time"),
        ({"columns": {"__TM_x": "1"}}, {}, "source.columns.__TM_x: found the name '__TM_x'; names that begin"),
        ({"columns": ["a"]}, {}, "source.columns: found a list, expected a mapping of new columns"),
        ({"columns": {"a": ""}}, {}, "source.columns.a: found "),
        ({}, {"key": {"page": "a", "PAGE": "b"}}, "windows.key.PAGE: found the name 'PAGE' for the second time"),
        ({}, {"key": {"watermark": "a"}}, "the result tables have a column watermark already"),
        ({}, {"key": {"n": "a"}}, "windows.aggregates.n: found the name 'n', which is also the key column"),
        ({"columns": {"page": "a"}}, {"key": {"Page": "b"}}, "windows.key.Page: source.columns declares it already"),
        ({}, {"key": "page"}, "windows.key: found 'page', expected a list of columns"),
    ],
)
def test_columns_that_contradict_others_are_refused(
    source: dict[str, Any], windows: dict[str, Any], problem: str
) -> None:
    assert problem in problems(source, windows)


def test_a_selection_enters_the_fingerprint_and_none_does_not() -> None:
    plain = pipeline()
    assert plain.fingerprint == pipeline({"select": [], "exclude": []}).fingerprint
    fingerprints = {pipeline({key: ["a*"]}).fingerprint for key in ("select", "exclude")}
    assert len({*fingerprints, plain.fingerprint}) == 3


def test_the_key_is_always_carried() -> None:
    assert "source.exclude[1]: 'PAGE' is a column of the key" in problems({"exclude": ["x", "PAGE"]})
    assert pipeline({"exclude": ["p*"]}).source.exclude == ("p*",)


def test_a_join_has_no_selection() -> None:
    join = {"key": ["id"], "between": ["0s", "1s"], "second_when": "x"}
    whole = {"name": "p", "source": {**SOURCE, "select": ["a"]}, "watermark": {"out_of_orderness": "1s"}, "join": join}
    with pytest.raises(PipelineError, match=r"source\.select: found with a join, whose pairs contain whole rows"):
        from_mapping(whole)
