"""The specification of a replay: what determines its result rows, as frozen data.

Specs are values. Each question about a spec is a property of the spec, defined once. All durations are whole
milliseconds and carry `_ms` in their names; all intervals are half-open.
"""

from spark_jobs.semantics.spec.joins import AsOf, Join
from spark_jobs.semantics.spec.replay import EndOfInput, Mode, Order, ReplayOrder, ReplaySpec, UnitedSource
from spark_jobs.semantics.spec.source import ComputedColumn, QuarantineRule, Source, SourcePartition
from spark_jobs.semantics.spec.times import FOREVER_MS, TimeField, TimeUnit
from spark_jobs.semantics.spec.triggers import Trigger, TriggerKind
from spark_jobs.semantics.spec.watermark import Alignment, Emit, EmitKind, Placement, Strategy, Watermark
from spark_jobs.semantics.spec.windows import (
    WINDOW_KINDS,
    Accumulation,
    Aggregate,
    Floats,
    LateData,
    LatePanes,
    WindowKind,
    Windows,
)

__all__ = [
    "FOREVER_MS",
    "WINDOW_KINDS",
    "Accumulation",
    "Aggregate",
    "Alignment",
    "AsOf",
    "ComputedColumn",
    "Emit",
    "EmitKind",
    "EndOfInput",
    "Floats",
    "Join",
    "LateData",
    "LatePanes",
    "Mode",
    "Order",
    "Placement",
    "QuarantineRule",
    "ReplayOrder",
    "ReplaySpec",
    "Source",
    "SourcePartition",
    "Strategy",
    "TimeField",
    "TimeUnit",
    "Trigger",
    "TriggerKind",
    "UnitedSource",
    "Watermark",
    "WindowKind",
    "Windows",
]
