"""Liquid clustering of published tables by the time of their windows or rows, as Delta's log declares it.

Runs and maintenance write files whose times hardly overlap, with or without it. The declaration lets every other
writer, such as `OPTIMIZE` of Delta, keep that order. Source: Delta's protocol, "Clustered Table".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from spark_jobs.tables.stored_names import PHYSICAL_NAME

#: A published table is in the order of the first of these columns that it has.
TIMES = ("window_start", "event_time", "emitted_at")
_DOMAIN = "delta.clustering"
_FEATURES = {"delta.feature.clustering": "supported", "delta.feature.domainMetadata": "supported"}


def time_column(schema: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the column that clusters a table, under its name in files; none without a time.

    `schema` are the fields of Delta's schema in JSON.
    """
    fields = {field["name"]: field for field in schema}
    names = (str(fields[name].get("metadata", {}).get(PHYSICAL_NAME, name)) for name in TIMES if name in fields)
    return list(names)[:1]


def columns_of(domains: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns that cluster a table with these `domainMetadata`, in JSON."""
    for domain in domains:
        if domain["domain"] == _DOMAIN and not domain["removed"]:
            return [path[-1] for path in json.loads(domain["configuration"])["clusteringColumns"]]
    return []


def action(columns: Iterable[str]) -> dict[str, Any]:
    """Return the action that declares by which columns a table is clustered from now on."""
    content = {"clusteringColumns": [[column] for column in columns], "domainName": _DOMAIN}
    return {"domainMetadata": {"domain": _DOMAIN, "configuration": json.dumps(content), "removed": False}}


def with_features(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return a `metaData` action that makes Delta add the features of clustering to the table's protocol."""
    if "metaData" not in metadata:
        return metadata
    settings = {**metadata["metaData"].get("configuration", {}), **_FEATURES}
    return {"metaData": {**metadata["metaData"], "configuration": settings}}
