"""Stored names: what Delta refuses in a name is escaped, so that files of different runs agree."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import types as T

from spark_jobs.tables.data_files import escaped
from spark_jobs.tables.stored_names import original_name, original_schema, stored_name, stored_schema
from spark_jobs.tables.table_metadata import mapped
from tests.support import column_names

NAMES = (*column_names.HARD, *column_names.drawn(1, 400), "a%20b", "__tmc_a%20b", "__tmc_", "%")


def test_a_stored_name_is_its_own_inverse() -> None:
    assert {name: original_name(stored_name(name)) for name in NAMES} == {name: name for name in NAMES}


def test_different_names_are_stored_differently_and_without_refused_marks() -> None:
    stored = [stored_name(name) for name in NAMES]
    assert len(set(stored)) == len(set(NAMES))
    assert not [name for name in stored if set(name) & set(column_names.MARKS)]


@pytest.mark.parametrize(("name", "stored"), [("user.name", "user.name"), ("a b", "__tmc_a%20b"), ("50%", "50%")])
def test_only_names_that_delta_refuses_differ(name: str, stored: str) -> None:
    assert stored_name(name) == stored


def test_fields_at_any_depth_are_stored() -> None:
    inner = T.StructType([T.StructField("x=y", T.LongType())])
    deep = T.MapType(T.StringType(), T.ArrayType(inner))
    schema = T.StructType([T.StructField("a b", deep, metadata={"comment": "kept"})])
    stored = stored_schema(schema)
    assert stored.simpleString() == "struct<__tmc_a%20b:map<string,array<struct<__tmc_x%3dy:bigint>>>>"
    assert original_schema(stored) == schema


def action(*names: str, **settings: str) -> dict[str, Any]:
    schema = T.StructType([T.StructField(name, T.LongType()) for name in names])
    return {"metaData": {"schemaString": schema.json(), "configuration": settings}}


def columns(of: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Return the id and the physical name of each column."""
    fields = json.loads(of["metaData"]["schemaString"])["fields"]
    metadata = {field["name"]: field["metadata"] for field in fields}
    return {
        name: (of["delta.columnMapping.id"], of["delta.columnMapping.physicalName"]) for name, of in metadata.items()
    }


def test_a_table_maps_its_columns_only_where_a_name_needs_it() -> None:
    assert mapped(action("id", "user.name")) == action("id", "user.name")
    assert mapped(action("id"), action("id")) == action("id")
    assert mapped({"protocol": {}}) == {"protocol": {}}
    new = mapped(action("id", "a b", kept="1"))
    assert columns(new) == {"id": (1, "id"), "a b": (2, "__tmc_a%20b")}
    settings = new["metaData"]["configuration"]
    assert settings == {"kept": "1", "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}


def test_columns_keep_their_ids_and_a_mapped_table_stays_mapped() -> None:
    before = mapped(action("id", "a b", "c"))
    after = mapped(action("c", "new", "id"), before)
    assert columns(after) == {"c": (3, "c"), "new": (4, "new"), "id": (1, "id")}
    assert after["metaData"]["configuration"]["delta.columnMapping.maxColumnId"] == "4"


def test_a_path_matches_itself_alone() -> None:
    assert escaped("/l/we[ird]/st*r?{a,b}\\") == "/l/we\\[ird\\]/st\\*r\\?\\{a\\,b\\}\\\\"
    assert escaped("s3a://bucket/lake-1") == "s3a://bucket/lake-1"
