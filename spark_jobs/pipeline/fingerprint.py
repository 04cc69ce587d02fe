"""A fingerprint names everything that can change a result row: a hash of a pipeline's name and its replay spec.

    fingerprint = first 16 hex digits of sha256(json([FORMAT, {name, fields of the spec}])), keys sorted

The fields of each spec that enter are listed here. A new field of a spec therefore changes no fingerprint of a
published run by accident. A field in `SINCE_FORMAT` enters only with a value other than its default: a pipeline that
does not use the field keeps its fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from spark_jobs.semantics.spec import (
    Aggregate,
    Alignment,
    ComputedColumn,
    Emit,
    Floats,
    Join,
    Mode,
    QuarantineRule,
    ReplayOrder,
    ReplaySpec,
    Source,
    SourcePartition,
    TimeField,
    Trigger,
    UnitedSource,
    Watermark,
    Windows,
)

#: The version of this format; no version of the package.
FORMAT = "0.1.0"

#: The fields of each spec that always enter.
FIELDS: Mapping[type[Any], tuple[str, ...]] = {
    TimeField: ("expression", "unit", "format", "timezone"),
    SourcePartition: ("columns", "declared"),
    ComputedColumn: ("name", "expression"),
    QuarantineRule: ("name", "unexpected"),
    Source: (
        "table",
        "event_time",
        "arrival_time",
        "source_partition",
        "tie_break",
        "where",
        "future_guard_ms",
        "offset",
    ),
    Emit: ("kind", "interval_ms", "phase_ms", "n"),
    Alignment: ("max_drift_ms", "update_interval_ms"),
    Watermark: (
        "strategy",
        "out_of_orderness_ms",
        "placement",
        "emit",
        "when",
        "value",
        "lag_ms",
        "idle_timeout_ms",
        "generator",
        "arguments",
        "alignment",
    ),
    Trigger: ("kind", "interval_ms", "n"),
    Aggregate: ("name", "expression"),
    Windows: (
        "size_ms",
        "offset_ms",
        "key",
        "allowed_lateness_ms",
        "accumulation",
        "late_data",
        "aggregates",
        "kind",
        "slide_ms",
        "gap_ms",
        "late_panes",
        "trigger",
    ),
    ReplayOrder: ("order", "end_of_input", "rows_per_round"),
    UnitedSource: ("name", "source", "watermark"),
    Join: ("names", "key", "lower_ms", "upper_ms", "lower_inclusive", "upper_inclusive", "second_when"),
    ReplaySpec: ("source", "windows", "watermark", "replay", "sources"),
}

#: Fields that are younger than the format, with the value under which they do not enter.
SINCE_FORMAT: Mapping[type[Any], Mapping[str, object]] = {
    Source: {"columns": (), "select": (), "exclude": (), "quarantine": (), "deduplicate": ()},
    Windows: {"timezone": "UTC", "floats": Floats.EXACT},
    ReplayOrder: {"mode": Mode.FAITHFUL},
    Join: {"as_of": None},
    ReplaySpec: {"join": None},
}


def fingerprint(name: str, spec: ReplaySpec) -> str:
    """Return the 16 hex digits that name the results of a pipeline."""
    text = json.dumps([FORMAT, {"name": name, **_fields(spec, ReplaySpec)}], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _fields(spec: object, kind: type[Any]) -> dict[str, Any]:
    younger = {name for name, unused in SINCE_FORMAT.get(kind, {}).items() if getattr(spec, name) != unused}
    return {name: _content(getattr(spec, name)) for name in (*FIELDS[kind], *younger)}


def _content(value: object) -> Any:
    if is_dataclass(value):
        return _fields(value, type(value))
    return [_content(item) for item in value] if isinstance(value, (list, tuple)) else value
