"""The `metaData` action of a published table in Delta's log: its schema and its retention settings."""

from __future__ import annotations

import json
from typing import Any

from spark_jobs.tables.staging import published_columns

#: Settings that stop Delta from deleting versions by age: the ledger refers to them until maintenance removes them.
RETENTION_SETTINGS = {
    "delta.enableExpiredLogCleanup": "false",
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 36500 days",
}


def published_action(action: dict[str, Any]) -> dict[str, Any]:
    """Return a staged table's action for the published table: without working columns, with retention settings.

    Delta reads files by the schema, so readers do not see the working columns. Other actions stay unchanged.
    """
    if "metaData" not in action:
        return action
    metadata = action["metaData"]
    schema = json.loads(metadata["schemaString"])
    schema["fields"] = [f for f in schema["fields"] if published_columns([f["name"]])]
    return with_retention_settings({"metaData": {**metadata, "schemaString": json.dumps(schema)}})


def with_retention_settings(action: dict[str, Any]) -> dict[str, Any]:
    """Return a `metaData` action with the retention settings."""
    metadata = action["metaData"]
    return {"metaData": {**metadata, "configuration": {**metadata.get("configuration", {}), **RETENTION_SETTINGS}}}


def has_retention_settings(action: dict[str, Any]) -> bool:
    """Return whether a `metaData` action has the retention settings."""
    settings: dict[str, str] = action["metaData"].get("configuration", {})
    return RETENTION_SETTINGS.items() <= settings.items()
