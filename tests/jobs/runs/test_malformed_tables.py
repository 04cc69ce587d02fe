"""100 malformed tables: each is refused in one clear text, or its bad rows are invalid and the rest is exact."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.pipeline import from_mapping
from spark_jobs.semantics import reference
from spark_jobs.tables import delta_log, ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support.engine import rows_of
from tests.support.malformed_tables import malformed_table
from tests.support.whole_run import assert_published, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SEED, NUMBER = 20261125, 100
#: In `make test` too, at least one of each fault.
QUICK = {0, 1, 2, 5, 6, 21}


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=() if n in QUICK else pytest.mark.soak) for n in range(NUMBER)]
)
def test_a_malformed_table_is_refused_or_read_exactly(
    spark: SparkSession, tmp_path: Path, lake: Lake, number: int
) -> None:
    table = malformed_table(spark, SEED, number, tmp_path)
    times = {"event_time": "at", "arrival_time": "seen", "source_partition": ["site"], "tie_break": ["id"]}
    pipeline = from_mapping(
        {
            "name": "readings",
            "source": {"table": table.path, **times, **table.source},
            "watermark": {"out_of_orderness": "1 minute", "emit": {"every": "1 minute"}},
            "windows": {"size": "5 minutes", "key": ["site"], "aggregates": {"n": "count(*)", "top": "max(v)"}},
        }
    )
    try:
        run_steps(spark, pipeline, lake, Interval())
    except (InputError, BlockedError) as problem:
        text = str(problem)
        assert "Traceback" not in text, table.name
        assert table.path in text or "checks failed" in text or "source." in text, (table.name, text)
        assert not ledger.published(spark, lake), table.name
        assert not delta_log.exists(spark, lake.path("panes")), table.name
        return
    rows = rows_of(spark.read.format("delta").load(table.path))
    condition = _has_site if pipeline.source.where == "site is not null" else None
    assert_published(spark, lake, reference.replay(rows, pipeline, where=condition), table.name)


def _has_site(row: Mapping[str, Any]) -> bool:
    """Return whether the row has a site of any type: SQLite reads no list."""
    return row["site"] is not None
