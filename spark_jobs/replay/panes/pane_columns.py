"""A firing is what an aggregate may ask about besides its rows: its window, and the operator's watermark.

    window_start, window_end   TIMESTAMP, the end exclusive
    watermark                  TIMESTAMP, of the emission that fires the pane, or before the late row that does; MAX is
                               the end of the input

They stand in an aggregate's SQL like columns that all rows of a pane have alike; a column of the source with such a
name comes first. What asks for them cannot be continued from one pane to the next, and is computed from the rows.
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


def asked(columns: Iterable[str], pipeline: Pipeline) -> list[str]:
    """Those of `NAMES` that an aggregate of the pipeline asks for; `columns` are those of the rows it reads."""
    texts = [_TEXT.sub("", aggregate.expression) for aggregate in pipeline.windows.aggregates]
    named = {found.lower() for text in texts for found in _NAME.findall(text)}
    there = {name.lower() for name in columns}
    return [name for name in NAMES if name in named - there]


def told(start_ms: Column, length_ms: Column, watermark: Column) -> dict[str, Column]:
    """What can be asked, by name, of a window that starts at `start_ms`, and the TIMESTAMP `watermark`."""
    ends = timestamps.from_millis(start_ms + length_ms)
    return dict(zip(NAMES, (timestamps.from_millis(start_ms), ends, watermark), strict=True))


def grouped(rows: DataFrame, pipeline: Pipeline) -> GroupedData:
    """`rows` in groups in which an aggregate of the pipeline can be analysed: what it asks for is there, by type."""
    nothing = told(F.lit(0), F.lit(0), F.lit(None).cast("timestamp"))
    return beside(rows, nothing, pipeline).groupBy(*asked(rows.columns, pipeline))


def beside(rows: DataFrame, told: Mapping[str, Column], pipeline: Pipeline) -> DataFrame:
    """`rows` with those of `told`, by name, that are asked for."""
    return rows.withColumns({name: told[name] for name in asked(rows.columns, pipeline)})
