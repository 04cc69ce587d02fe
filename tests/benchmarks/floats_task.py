"""The benchmark of exact sums, as a process: whole runs over random doubles, with exact and with plain sums by turns.

    python -m tests.benchmarks.floats_task ROWS TURNS SHAPE FOLDER OUT.json

FOLDER holds events and lakes, and is emptied. The value of an event is `rand(7) * 1000 + rand(8) * 1e-6`. So values
have magnitudes that differ, and use all bits of a double. The sum of several values has to be rounded.

Plain sums are those of Spark. For them, the aggregates stay as in the pipeline file, and the census measures no value.
The way that runs first changes with each turn. Each run has a new lake. After the last turn, the results of both ways
are compared.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from unittest.mock import patch

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.replay.floats import compiled
from spark_jobs.replay.floats.exact_sum import Grids
from spark_jobs.session import open_session
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.published import read_published
from tests.benchmarks import events
from tests.benchmarks.events import DEFAULT_SEED
from tests.benchmarks.pipelines import lake_of, pipeline_of
from tests.benchmarks.shapes import Shape

EXACT, PLAIN = "exact", "plain"
#: A plain sum of n values that are not negative is off by less than n * 2^-53 of it. This covers 9,000 values.
ROUNDING = 1e-12
_KEY = ("key", "window_start", "window_end")
_SUM = "total"


class Sum(NamedTuple):
    """The sum that a run computes: as SQL, and of how many values the census has measured the bits."""

    sql: str
    measured_values: int


def main(arguments: Sequence[str]) -> None:
    """Make the events, take all turns of a shape, and write the seconds and counts."""
    rows, turns, shape = int(arguments[0]), int(arguments[1]), Shape(arguments[2])
    folder, out = Path(arguments[3]), Path(arguments[4])
    shutil.rmtree(folder, ignore_errors=True)
    spark = open_session("benchmark exact sums")
    _generate(spark, folder / "events", rows)
    result = measured(spark, pipeline_of(folder / "events", shape), turns, folder)
    spark.stop()
    shutil.rmtree(folder)
    out.write_text(json.dumps(result, indent=1), encoding="utf-8")


def measured(spark: SparkSession, pipeline: Pipeline, turns: int, folder: Path) -> dict[str, Any]:
    """Return the seconds of each turn, the sums of both ways, and in how many windows their results differ."""
    seconds: list[dict[str, float]] = []
    sums: dict[str, set[Sum]] = {EXACT: set(), PLAIN: set()}
    for turn in range(turns):
        seconds.append({})
        for way in (EXACT, PLAIN) if turn % 2 else (PLAIN, EXACT):
            shutil.rmtree(folder / way, ignore_errors=True)
            with adding(way) as computed:
                began = monotonic()
                Runner(spark, pipeline, lake_of(folder / way)).run(Interval())
                seconds[-1][way] = monotonic() - began
            sums[way] |= computed
    exact, plain = (read_published(spark, lake_of(folder / way), "window_results") for way in (EXACT, PLAIN))
    return {
        "turns": seconds,
        "sums": {way: sorted(computed) for way, computed in sums.items()},
        "windows": exact.count(),
        "differing_rows": differing(exact, plain),
    }


@contextmanager
def adding(way: str) -> Iterator[set[Sum]]:
    """Let runs of this process add in a way. Yields the sums that they compute, filled by each run."""
    computed: set[Sum] = set()
    compile_exact = compiled.compiled

    def compile_way(rows: DataFrame, pipeline: Pipeline, grids: Mapping[str, Grids]) -> Pipeline:
        result = compile_exact(rows, pipeline, grids) if way == EXACT else pipeline
        computed.update(Sum(each.expression, len(grids)) for each in result.windows.aggregates if each.name == _SUM)
        return result

    with ExitStack() as patches:
        patches.enter_context(patch.object(compiled, "compiled", compile_way))
        if way == PLAIN:
            patches.enter_context(patch.object(compiled, "measured", lambda _rows, _pipeline: []))
        yield computed


def differing(exact: DataFrame, plain: DataFrame) -> int:
    """Count the windows that only one way has, or whose values differ. Doubles may differ by rounding."""
    pairs = exact.alias("exact").join(plain.alias("plain"), [*_KEY], "full")
    values = [field for field in exact.schema.fields if field.name not in (*_KEY, "run_id")]
    is_equal = F.lit(True)
    for value in values:
        left, right = F.col(f"exact.{value.name}"), F.col(f"plain.{value.name}")
        is_equal &= _is_near(left, right) if value.dataType.typeName() == "double" else left.eqNullSafe(right)
    # In a window that only one way has, doubles are null, and so is their comparison.
    return pairs.where(~F.coalesce(is_equal, F.lit(False))).count()


def _is_near(left: Column, right: Column) -> Column:
    return F.abs(left - right) <= F.abs(left) * ROUNDING


def _generate(spark: SparkSession, path: Path, rows: int) -> None:
    """Write the benchmark's events with random doubles."""
    usual = path.with_name("usual")
    events.generate(spark, usual, rows, DEFAULT_SEED)
    value = F.rand(7) * 1000 + F.rand(8) * 1e-6
    spark.read.format("delta").load(str(usual)).withColumn("value", value).write.format("delta").save(str(path))
    shutil.rmtree(usual)


if __name__ == "__main__":
    main(sys.argv[1:])
