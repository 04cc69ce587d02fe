"""The block `watermark` of a pipeline file: how the watermark follows the rows, and when it is emitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.pipeline.emission import EMISSION
from spark_jobs.pipeline.forms import Plain, choice, duration, pattern, text
from spark_jobs.pipeline.model import Alignment, Placement, Strategy, Watermark
from spark_jobs.pipeline.names import argument
from spark_jobs.pipeline.records import Field, Record, Rest
from spark_jobs.pipeline.time_fields import TIME_FIELD


def _arguments(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return arguments


_IDLE_TIMEOUT = "a duration longer than 0, such as '12 hours'"

_ALIGNMENT = Record(
    Alignment,
    fields=(
        Field(
            "max_drift",
            "max_drift_ms",
            duration(),
            required=True,
            meaning="How far the watermark of a source partition may be ahead of the slowest before the "
            "partition waits.",
        ),
        Field(
            "update_interval",
            "update_interval_ms",
            duration("a duration longer than 0, such as '1s'", least_ms=1),
            meaning="Length of a round, after which the drift is compared again.",
        ),
    ),
)

_CLASS = pattern(
    "a class as package.module:Class",
    r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*",
)
_ARGUMENTS = Record(
    _arguments,
    rest=Rest("arguments", Plain(), name=argument),
    what="a mapping of the class's arguments to values, such as {rows: 1000}",
)

WATERMARK_BLOCK = Record(
    Watermark,
    fields=(
        Field(
            "placement",
            "placement",
            choice(Placement),
            meaning="Whether rows that `source.where` drops move the watermark.",
        ),
        Field(
            "strategy",
            "strategy",
            choice(Strategy),
            meaning="How the watermark of a source partition follows its rows.",
        ),
        Field(
            "out_of_orderness",
            "out_of_orderness_ms",
            duration(),
            meaning="The out-of-orderness bound. Only for the strategy `bounded_out_of_orderness`.",
        ),
        Field(
            "when",
            "when",
            text("a SQL condition that marks rows, such as 'is_heartbeat'"),
            meaning="SQL condition that marks the rows that carry a watermark. Only for the strategy `punctuated`.",
        ),
        Field(
            "value",
            "value",
            TIME_FIELD,
            meaning="The watermark that a marked row carries; without this key, the event time. Only for the "
            "strategy `punctuated`.",
        ),
        Field(
            "lag",
            "lag_ms",
            duration(),
            meaning="How far the watermark is behind the arrival clock. Only for the strategy `time_lag`.",
        ),
        Field(
            "class",
            "generator",
            _CLASS,
            meaning="Python class of the watermark generator; each source partition has one instance. Only for "
            "the strategy `custom`.",
        ),
        Field(
            "arguments",
            "arguments",
            _ARGUMENTS,
            meaning="Arguments for the constructor of the class. Only for the strategy `custom`.",
        ),
        Field(
            "idle_timeout",
            "idle_timeout_ms",
            duration(_IDLE_TIMEOUT, least_ms=1),
            meaning="A source partition without rows for longer than this is idle and holds no window back. "
            "Without this key, none becomes idle.",
        ),
        Field(
            "alignment",
            "alignment",
            _ALIGNMENT,
            meaning="Source partitions that are too far ahead wait. Only for the order `offset`; without this "
            "key, none waits.",
        ),
        Field(
            "emit",
            "emit",
            EMISSION,
            meaning="When the watermark is emitted.",
        ),
    ),
)
