"""A run over a part of time compares the types of the source's columns, each under its name in `late_events`."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import types as T

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.source_changes import require_same_types
from spark_jobs.pipeline import from_mapping
from spark_jobs.pipeline.model import Pipeline

SOURCE = {"table": "data/orders", "event_time": "ordered_at", "arrival_time": "stored_at"}
BY_KEY = {"key": ["id"], "second_when": "id > 5"}
WINDOWS = {"size": "1 minute", "key": ["id"], "aggregates": {"orders": "count(*)"}}
AS_OF: dict[str, Any] = {"join": {**BY_KEY, "as_of": "inner"}}
INTERVAL: dict[str, Any] = {"join": {**BY_KEY, "between": ["0 s", "1 s"]}}
BY_WINDOW: dict[str, Any] = {"join": BY_KEY, "windows": {"size": "1 minute"}}
OF_WINDOWS: dict[str, Any] = {"windows": WINDOWS}

ADDED = {name: T.TimestampType() for name in ("event_time", "arrival_time", "watermark")}
VERDICT = {**ADDED, "verdict": T.StringType()}
WINDOW = {**ADDED, "window_start": T.TimestampType(), "window_end": T.TimestampType()}


def schema(columns: dict[str, Any]) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in columns.items()])


def pipeline(part: dict[str, Any]) -> Pipeline:
    return from_mapping({"name": "orders", "source": SOURCE, "watermark": {"strategy": "monotonous"}, **part})


@pytest.mark.parametrize(
    ("part", "added", "column", "published_as"),
    [
        (AS_OF, VERDICT, "verdict", "source_verdict"),
        (AS_OF, VERDICT, "window_start", "window_start"),
        (INTERVAL, ADDED, "verdict", "verdict"),
        (INTERVAL, ADDED, "window_end", "window_end"),
        (INTERVAL, ADDED, "watermark", "source_watermark"),
        (BY_WINDOW, WINDOW, "window_start", "source_window_start"),
        (OF_WINDOWS, WINDOW, "verdict", "verdict"),
        (OF_WINDOWS, WINDOW, "window_end", "source_window_end"),
    ],
)
def test_a_column_is_compared_under_its_name_in_the_late_rows(
    part: dict[str, Any], added: dict[str, Any], column: str, published_as: str
) -> None:
    published = schema({"source": T.StringType(), published_as: T.IntegerType(), **added})
    same, changed = ({"": schema({column: kind})} for kind in (T.IntegerType(), T.LongType()))
    require_same_types(pipeline(part), published, same, {"": 3})
    with pytest.raises(InputError, match=f"'{published_as}' was INT and is BIGINT now"):
        require_same_types(pipeline(part), published, changed, {"": 3})
