"""What describes a published table: the action of Delta's log with its schema and settings."""

from __future__ import annotations

import json
from typing import Any

from spark_jobs.tables.staging import published_columns

#: Delta forgets versions and their files by time, but the ledger names them for as long as maintenance keeps them.
LASTING = {
    "delta.enableExpiredLogCleanup": "false",
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 36500 days",
}


def of_staged(action: dict[str, Any]) -> dict[str, Any]:
    """A staged table's action without its working columns: Delta reads by the schema and passes them over.

    Actions that describe no table stay as they are.
    """
    if "metaData" not in action:
        return action
    metadata = action["metaData"]
    schema = json.loads(metadata["schemaString"])
    schema["fields"] = [f for f in schema["fields"] if published_columns([f["name"]])]
    return lasting({"metaData": {**metadata, "schemaString": json.dumps(schema)}})


def lasting(action: dict[str, Any]) -> dict[str, Any]:
    """The table's action with `LASTING` among its settings."""
    metadata = action["metaData"]
    return {"metaData": {**metadata, "configuration": {**metadata.get("configuration", {}), **LASTING}}}


def lasts(action: dict[str, Any]) -> bool:
    """Whether a table that is described so has `LASTING` among its settings."""
    settings: dict[str, str] = action["metaData"].get("configuration", {})
    return LASTING.items() <= settings.items()
