"""Pane columns: an aggregate may use its window and the operator's watermark like columns of its rows.

    window_start, window_end   TIMESTAMP, the end exclusive
    watermark                  TIMESTAMP, of the emission that fires the pane, or before the late row that does; MAX is
                               the end of the input

A pane column has one value for all rows of a pane. A column of the source with such a name takes precedence. An
aggregate that uses a pane column cannot be continued from one pane to the next; it is computed from the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import timestamps

NAMES = ("window_start", "window_end", "watermark")

_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NAME = re.compile(rf"(?<![\w.])`?({'|'.join(NAMES)})\b(?!\s*\()", re.IGNORECASE)


def requested(columns: Iterable[str], pipeline: Pipeline) -> list[str]:
    """Return the pane columns that an aggregate of the pipeline uses; `columns` are the columns of its rows."""
    texts = [_TEXT.sub("", aggregate.expression) for aggregate in pipeline.windows.aggregates]
    named = {name.lower() for text in texts for name in _NAME.findall(text)}
    source_names = {name.lower() for name in columns}
    return [name for name in NAMES if name in named - source_names]


def values(start_ms: Column, end_ms: Column, watermark: Column) -> dict[str, Column]:
    """Return the pane columns, by name, of a window `[start_ms, end_ms)`; `watermark` is a TIMESTAMP."""
    ends = timestamps.from_millis(end_ms)
    return dict(zip(NAMES, (timestamps.from_millis(start_ms), ends, watermark), strict=True))


def grouped(rows: DataFrame, pipeline: Pipeline) -> GroupedData:
    """Return `rows` in groups for which Spark can analyse the pipeline's aggregates: pane columns are null."""
    nulls = values(F.lit(0), F.lit(0), F.lit(None).cast("timestamp"))
    return with_values(rows, nulls, pipeline).groupBy(*requested(rows.columns, pipeline))


def with_values(rows: DataFrame, pane_values: Mapping[str, Column], pipeline: Pipeline) -> DataFrame:
    """Return `rows` with the pane columns that the pipeline's aggregates use, from `pane_values` by name."""
    return rows.withColumns({name: pane_values[name] for name in requested(rows.columns, pipeline)})
