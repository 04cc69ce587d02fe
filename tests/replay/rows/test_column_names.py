"""Whatever the source calls its columns, Spark gives what the reference gives, and carries all of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.semantics import reference
from tests.sampling import sampled
from tests.support import column_names, history
from tests.support.engine import assert_same_tables, spark_replay

pytestmark = pytest.mark.spark

NAMES = (*column_names.of_engine(), *column_names.HARD, *column_names.drawn(11, 20))
ROWS = column_names.beside(history.events(260), NAMES)
SCHEMA = pa.schema([*history.SCHEMA, *((name, pa.string()) for name in ROWS[0] if name not in history.SCHEMA.names)])
FEW = {"windows__aggregates": "{readings: count(*), ids: 'max(id)'}"}

PIPELINES: dict[str, dict[str, Any]] = {
    "ticks": {},
    "every row": {"watermark__emit": "per_event", "windows__accumulation": "retracting"},
    "every 7 rows": {"watermark__emit": "{every_n: 7}", "replay__mode": "complete"},
    "recomputed": {"windows__aggregates": "{devices: count(distinct site)}"},
    "sliding": {"windows__kind": "sliding", "windows__slide": "4 minutes"},
    "sessions": {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"},
    "counted": {"windows__trigger": "{count: 3}"},
    "continuous": {"windows__trigger": "{continuous: 2 minutes}"},
    "rounds": {"replay__order": "offset", "source__offset": "id", "watermark__emit": "{every: 1s}"},
    "marks": {
        "watermark": "{strategy: punctuated, when: reading > 40, emit: {every_n: 20}, idle_timeout: 5 minutes}",
    },
}


def test_names_of_the_engine_are_known() -> None:
    assert {"fires_epoch", "closes_epoch", "watermark", "reason", "component", "slot", "bucket"} <= set(NAMES)


@pytest.mark.parametrize("kind", [sampled(kind, quick=False, judges=kind == "ticks", id=kind) for kind in PIPELINES])
def test_columns_of_any_name(session: SparkSession, kind: str) -> None:
    pipeline = history.pipeline("rows", **{**FEW, **PIPELINES[kind]})
    expected = reference.replay(ROWS, pipeline)
    assert expected.late_events or kind == "rounds"
    assert expected.invalid_events
    assert_same_tables(spark_replay(session, ROWS, pipeline, schema=SCHEMA), expected)
