"""The settings of a pipeline, a line each, as in a pipeline file: dotted name and value.

Every field of the model is included, also fields with default values; durations are written with units. The value of
an environment variable is shown as `${NAME}`.

Settings of results are those that can change a result row. A run keeps them in the ledger, so that a later command
names the settings that differ, old and new.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import Enum
from typing import Any

from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.environment import hide_values
from spark_jobs.pipeline.model import Pipeline

_DURATION = "_ms"
_NOT_SET = "not set"
# Keys that decide on results, without the mode, which adds a table and changes no result.
_OF_RESULTS = ("source", "sources", "watermark", "windows", "replay", "join")
_NO_RESULT = frozenset(("replay.mode",))
# Differences that an error or a screen names; the rest is counted.
_MOST = 5


def settings(pipeline: Pipeline) -> dict[str, str]:
    """Return the values of the settings by dotted name, in the order of the file."""
    plain = asdict(pipeline)
    aggregates = {a["name"]: a["expression"] for a in plain["windows"].pop("aggregates")}
    plain["windows"]["aggregates"] = aggregates
    for name in ("path", "places"):
        plain.pop(name)
    if pipeline.join is None:
        del plain["join"]
    return dict(_lines("", plain))


def of_results(pipeline: Pipeline) -> dict[str, str]:
    """Return the settings that can change a result row."""
    return {
        name: value
        for name, value in settings(pipeline).items()
        if name.partition(".")[0] in _OF_RESULTS and name not in _NO_RESULT
    }


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the settings that differ, as `name: old -> new`, in the order of the file.

    A setting that a version of Tidemark added is no change if its value is not set.
    """
    names = [*now, *(name for name in before if name not in now)]
    values = ((name, before.get(name, _NOT_SET), now.get(name, _NOT_SET)) for name in names)
    return [f"{name}: {old} -> {new}" for name, old, new in values if old != new and not _is_new(name, before, new)]


def differences(before: Mapping[str, str], fingerprint: str, pipeline: Pipeline) -> str:
    """Return in words how the settings of a run differ from a pipeline; by fingerprints if the run has no settings."""
    changed = changes(before, of_results(pipeline)) if before else []
    if not changed:
        return f"fingerprint {fingerprint} -> {pipeline.fingerprint}"
    more = f" and {len(changed) - _MOST} more" if len(changed) > _MOST else ""
    return "; ".join(changed[:_MOST]) + more


def _is_new(name: str, before: Mapping[str, str], new: str) -> bool:
    return name not in before and new in (_NOT_SET, "none", "UTC")


def _lines(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _lines(f"{prefix}.{name}" if prefix else str(name), inner)
    elif prefix.endswith(_DURATION) and isinstance(value, int):
        yield prefix.removesuffix(_DURATION), format_duration(value)
    else:
        yield prefix.removesuffix(_DURATION), hide_values(_text(value))


def _text(value: Any) -> str:
    if value is None:
        return _NOT_SET
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(v, str) for v in value):
        return ", ".join(value) or "none"
    return json.dumps(value, ensure_ascii=False, default=str)
