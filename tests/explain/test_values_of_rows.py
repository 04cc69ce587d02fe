"""Rows are explained whatever their values are, also values that do not equal themselves in Python."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.explain.rows import explain_rows
from spark_jobs.explain.streams import of_source
from spark_jobs.replay.engine import until_micros
from tests.explain.test_explained_rows import SAMPLE
from tests.support.engine import frame_of
from tests.support.recorded_on_spark import schema_of
from tests.vectors.scenarios import Scenario

pytestmark = pytest.mark.spark

VALUES = {
    "a_number": "double('nan')",
    "a_list": "array(double('nan'), -0.0d, null)",
    "a_map": "map('k', float('nan'), 'null', null)",
    "a_variant": "parse_json('{\"a\": [1, null]}')",
    "a_struct": "named_struct('a', double('nan'), 'b', x'00')",
}
KINDS = [next(s for s in SAMPLE if s.panes and s.pipeline.windows.is_session == is_session) for is_session in (0, 1)]


@pytest.mark.parametrize("scenario", KINDS, ids=["windows", "sessions"])
def test_columns_of_any_type_change_no_explanation(session: SparkSession, scenario: Scenario) -> None:
    events = frame_of(session, scenario.rows, schema_of(scenario))
    more = events.withColumns({name: F.expr(sql) for name, sql in VALUES.items()})
    few, many = (
        explain_rows(
            of_source(rows, scenario.pipeline, until_us=until_micros(scenario.until)),
            [F.col("index") < 8],
            most=len(scenario.rows) + 1,
        )
        for rows in (events, more)
    )
    assert {*many[0].row} == {*few[0].row, *VALUES}
    alone = [replace(row, row={name: row.row[name] for name in few[0].row}) for row in many]
    assert [*map(str, alone)] == [*map(str, few)]
    assert any(row.windows for row in few)
