"""The text of a drafted file: its name, its time fields, and its new names of columns."""

from __future__ import annotations

import pytest
import yaml

from spark_jobs.jobs.draft.named_columns import NamedColumn
from spark_jobs.jobs.draft.pipeline_text import pipeline_name, source_columns, time_field
from spark_jobs.pipeline.model import TimeField, TimeUnit


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


@pytest.mark.parametrize(
    ("field", "is_local", "value"),
    [
        (TimeField("ts"), False, "ts"),
        (TimeField("`event time`"), False, "`event time`"),
        (TimeField("on"), False, "on"),
        (TimeField("payload.ts", TimeUnit.SECONDS), False, {"column": "payload.ts", "unit": "s"}),
        (TimeField("a", format="yyyy'T'"), False, {"column": "a", "format": "yyyy'T'"}),
        (TimeField("a", format="yyyy"), True, {"column": "a", "format": "yyyy", "timezone": "UTC"}),
    ],
)
def test_time_fields_are_read_as_they_were_meant(field: TimeField, is_local: bool, value: object) -> None:
    assert yaml.safe_load(time_field(field, is_local=is_local)) == value


def test_new_names_are_a_mapping_and_plain_columns_are_left_out() -> None:
    named = [NamedColumn("page", "payload.page"), NamedColumn("Gerät_Nr", "`Gerät Nr`"), NamedColumn("site")]
    lines = yaml.safe_load("\n".join(source_columns(named)))
    assert lines == {"columns": {"page": "payload.page", "Gerät_Nr": "`Gerät Nr`"}}
    assert source_columns([NamedColumn("site")]) == []
