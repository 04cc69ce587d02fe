"""The settings of a pipeline, a line each, as in a pipeline file: dotted name and value.

Every field of the model is included, also fields with default values; durations are written with units. The value of
an environment variable is shown as `${NAME}`.
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
from spark_jobs.report.data import Setting

_DURATION = "_ms"


def settings(pipeline: Pipeline) -> tuple[Setting, ...]:
    """Return the settings in the order of the file."""
    plain = asdict(pipeline)
    aggregates = {a["name"]: a["expression"] for a in plain["windows"].pop("aggregates")}
    plain["windows"]["aggregates"] = aggregates
    plain.pop("path")
    if pipeline.join is None:
        del plain["join"]
    return tuple(_lines("", plain))


def _lines(prefix: str, value: Any) -> Iterator[Setting]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _lines(f"{prefix}.{name}" if prefix else str(name), inner)
    elif prefix.endswith(_DURATION) and isinstance(value, int):
        yield Setting(prefix.removesuffix(_DURATION), format_duration(value))
    else:
        yield Setting(prefix.removesuffix(_DURATION), hide_values(_text(value)))


def _text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(v, str) for v in value):
        return ", ".join(value) or "none"
    return json.dumps(value, ensure_ascii=False, default=str)
