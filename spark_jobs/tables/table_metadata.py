"""The `metaData` action of a published table in Delta's log: schema, comments, mapping of columns, and settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.types import StructType

from spark_jobs.pipeline.published_tables import Part, Table
from spark_jobs.tables.staging import published_columns
from spark_jobs.tables.stored_names import COLUMN_ID, PHYSICAL_NAME, original_schema, stored_name

#: Settings that stop Delta from deleting versions by age: the ledger refers to them until maintenance removes them.
RETENTION_SETTINGS = {
    "delta.enableExpiredLogCleanup": "false",
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 36500 days",
}
_FEED = "delta.enableChangeDataFeed"
#: The column of a change data feed that has the kind of each change, and its kinds for rows that came or went.
CHANGE_TYPE, INSERT, DELETE = "_change_type", "insert", "delete"
_COMMENT = "comment"
_MODE, _HIGHEST_ID = "delta.columnMapping.mode", "delta.columnMapping.maxColumnId"


def published_action(action: dict[str, Any]) -> dict[str, Any]:
    """Return a staged table's action for the published table: without working columns, with retention settings.

    Columns have their original names. Delta reads files by the schema, so readers do not see the working columns. Other
    actions stay unchanged.
    """
    if "metaData" not in action:
        return action
    metadata = action["metaData"]
    published = StructType([field for field in original_schema(schema(action)) if published_columns([field.name])])
    return with_retention_settings({"metaData": {**metadata, "schemaString": published.json()}})


def with_comments(action: dict[str, Any], table: Table, aggregates: Mapping[str, str]) -> dict[str, Any]:
    """Return a `metaData` action with a comment of the published table and of each column.

    `aggregates` are SQL by name. A column of the key or of the source keeps the comment that it has. Other
    actions stay unchanged.
    """
    if "metaData" not in action:
        return action
    metadata = action["metaData"]
    schema = json.loads(metadata["schemaString"])
    own = {column.name: column.comment for column in table.own_columns}
    for field in schema["fields"]:
        before, name = field["metadata"].get(_COMMENT), field["name"]
        comment = own.get(name) or (f"`{aggregates[name]}`" if name in aggregates else before)
        field["metadata"] = {**field["metadata"], _COMMENT: comment or _other_comment(table)}
    return {"metaData": {**metadata, "description": table.row, "schemaString": json.dumps(schema)}}


def _other_comment(table: Table) -> str:
    """Return the comment of a column that the pipeline names, and that is no known aggregate."""
    if Part.SOURCE in table.columns:
        return "column of the source"
    if Part.INPUTS in table.columns:
        return "column of the key, or the joined row of an input"
    return "column of the key, or aggregate" if Part.AGGREGATES in table.columns else "column of the key"


def with_retention_settings(action: dict[str, Any]) -> dict[str, Any]:
    """Return a `metaData` action with the retention settings."""
    metadata = action["metaData"]
    return {"metaData": {**metadata, "configuration": {**metadata.get("configuration", {}), **RETENTION_SETTINGS}}}


def has_retention_settings(action: dict[str, Any]) -> bool:
    """Return whether a `metaData` action has the retention settings."""
    settings: dict[str, str] = action["metaData"].get("configuration", {})
    return RETENTION_SETTINGS.items() <= settings.items()


def schema(action: dict[str, Any]) -> StructType:
    """Return the schema of a `metaData` action."""
    return StructType.fromJson(json.loads(action["metaData"]["schemaString"]))


def has_feed(action: dict[str, Any]) -> bool:
    """Return whether a `metaData` action switches the change data feed on."""
    return str(action["metaData"].get("configuration", {}).get(_FEED, "")).lower() == "true"


def with_feed(action: dict[str, Any], *, on: bool) -> dict[str, Any]:
    """Return a `metaData` action with the change data feed on or off; other actions stay unchanged."""
    if "metaData" not in action or has_feed(action) == on:
        return action
    metadata = action["metaData"]
    settings = {**metadata.get("configuration", {}), _FEED: str(on).lower()}
    return {"metaData": {**metadata, "configuration": settings}}


def is_mapped(action: dict[str, Any]) -> bool:
    """Return whether an action maps columns."""
    return str(action.get("metaData", {}).get("configuration", {}).get(_MODE)) == "name"


def with_mapping(action: dict[str, Any]) -> dict[str, Any]:
    """Return the action of a table that does not map its columns as one that does; Delta gives the columns their ids.

    All columns keep their names in files.
    """
    metadata = action["metaData"]
    return {"metaData": {**metadata, "configuration": {**metadata.get("configuration", {}), _MODE: "name"}}}


def mapped(action: dict[str, Any], current: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a `metaData` action that maps columns to their stored names, if a stored name differs or the table maps.

    `current` is the table's action; None for a new table. A table that maps its columns always does: Delta refuses the
    way back. Columns keep their ids. Other actions stay unchanged.
    """
    if "metaData" not in action:
        return action
    metadata, before = action["metaData"], {} if current is None else current["metaData"]
    maps = current is not None and is_mapped(current)
    schema = json.loads(metadata["schemaString"])
    if not maps and all(stored_name(field["name"]) == field["name"] for _, field in _fields(schema)):
        return action
    ids = dict(_ids(json.loads(before["schemaString"]))) if maps else {}
    highest = max([*ids.values(), int(before.get("configuration", {}).get(_HIGHEST_ID, 0))], default=0)
    for path, field in _fields(schema):
        if path not in ids:
            highest += 1
        mapping = {COLUMN_ID: ids.get(path, highest), PHYSICAL_NAME: stored_name(field["name"])}
        field["metadata"] = {**field["metadata"], **mapping}
    settings = {**metadata.get("configuration", {}), _MODE: "name", _HIGHEST_ID: str(highest)}
    return {"metaData": {**metadata, "schemaString": json.dumps(schema), "configuration": settings}}


def _ids(schema: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], int]]:
    return ((path, field["metadata"][COLUMN_ID]) for path, field in _fields(schema))


def _fields(kind: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield each field of a type in JSON, at any depth, with its path."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields", ()):
        inside = (*path, field["name"].lower())
        yield inside, field
        yield from _fields(field["type"], inside)
    for part in ("elementType", "keyType", "valueType"):
        yield from _fields(kind.get(part), (*path, part))
