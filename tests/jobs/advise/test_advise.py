"""What advise foretells of other settings is what a replay with them counts, row for row and window for window.

The reference replays the same rows with each candidate's bound and lateness. Histories with silent and declared
partitions, rows that `where` drops, every emission, tumbling and sliding windows are drawn from a seed.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from math import ceil
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.advise import advise as advising
from spark_jobs.jobs.advise.advise import Advice, Settings, advise, weigh
from spark_jobs.jobs.advise.candidates import LADDER, Candidate
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline import load
from spark_jobs.pipeline.model import EmitKind, Pipeline, SourcePartition, Strategy, Windows
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.events import Event, event_reader
from spark_jobs.semantics.rows.instants import MAX, floor_to_ms
from spark_jobs.semantics.spec import WindowKind
from spark_jobs.semantics.streaming_job import StreamingJob
from spark_jobs.semantics.windows.lateness import Lateness
from tests.sampling import sampled
from tests.support import history
from tests.support.advice import with_settings
from tests.support.engine import frame_of
from tests.support.streams import SCHEMA, drawn_pipeline, drawn_rows

pytestmark = pytest.mark.spark

Rows = Sequence[Mapping[str, Any]]

BOUNDED = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS)
GRIDS = (
    Windows(size_ms=10, offset_ms=-2),
    Windows(size_ms=3),
    Windows(kind=WindowKind.SLIDING, size_ms=10, slide_ms=4, offset_ms=1),
    Windows(kind=WindowKind.SLIDING, size_ms=12, slide_ms=3),
)
WAYS = [(strategy, kind, idle) for strategy in BOUNDED for kind in EmitKind for idle in (True, False)]
#: Rows that are epochs.
QUICK = (3,)
SEEDS = [
    pytest.param(
        way, seed, marks=[pytest.mark.soak] if seed or i not in QUICK else [], id="-".join(map(str, (*way, seed)))
    )
    for seed in range(6)
    for i, way in enumerate(WAYS)
]


def judged(rows: Rows, pipeline: Pipeline) -> StreamingJob:
    """The reference's own job over the rows, in the order of arrival."""
    events = [event for row in rows if isinstance(event := event_reader(pipeline, None).read(row), Event)]
    moves_all = pipeline.watermark.placement.value == "source"
    job = StreamingJob(pipeline)
    job.run(sorted((e for e in events if e.is_kept or moves_all), key=lambda event: event.position), None)
    return job


def assert_comes_true(candidate: Candidate, rows: Rows, pipeline: Pipeline) -> None:
    adjusted = with_settings(pipeline, candidate)
    outcome, job = reference.replay(rows, adjusted), judged(rows, adjusted)
    counts = {fate.value: outcome.counts[fate.value] for fate in Lateness}
    assert {"on_time": candidate.on_time, "late": candidate.late, "too_late": candidate.too_late} == counts
    missing = {v.window for event in job.judged for v in event.verdicts if v.lateness is Lateness.TOO_LATE}
    windows = {v.window for event in job.judged for v in event.verdicts}
    assert (candidate.windows_missing_rows, candidate.windows) == (len(missing), len(windows))
    fired = [(fires, window) for window in windows if (fires := job.calendar.fires(window)) is not None]
    waits = [fires.clock_us / 1000 - window.end for fires, window in fired if fires.watermark != MAX]
    assert candidate.windows_fired == len(waits)
    assert candidate.mean_wait == (pytest.approx(mean(waits)) if waits else None)
    assert candidate.max_wait == (pytest.approx(max(waits)) if waits else None)
    rows_in_windows = sum(counts.values())
    assert candidate.completeness == pytest.approx(1 - counts["too_late"] / rows_in_windows if rows_in_windows else 1)


@pytest.mark.parametrize(("way", "seed"), SEEDS)
def test_every_candidate_comes_true(session: SparkSession, way: tuple[Strategy, EmitKind, bool], seed: int) -> None:
    draw = random.Random(f"{way} {seed}")
    strategy, kind, idle = way
    pipeline = drawn_pipeline(draw, strategy, kind, idle=idle)
    pipeline = replace(pipeline, windows=replace(draw.choice(GRIDS), allowed_lateness_ms=draw.choice([0, 7])))
    rows = drawn_rows(draw)
    while len(rows) < 30:
        rows = drawn_rows(draw)
    settings = draw.choice([Settings(target=Fraction(9, 10)), Settings((0, 1, 5, 26), (0, 3, 40))])
    advice = weigh(frame_of(session, rows, SCHEMA), pipeline, settings)
    assert len(advice.candidates) >= 2
    for candidate in {advice.now, *advice.candidates}:
        assert_comes_true(candidate, rows, pipeline)
    assert_disorder(advice, rows, pipeline)


def test_the_first_of_several_rows_of_one_time_passes_a_window(session: SparkSession) -> None:
    """Between two rows of the same instant, each a separate epoch, comes a row that the first makes late.

    arrival   1     2    3
    ts        25    5    25
    """
    pipeline = drawn_pipeline(random.Random(0), BOUNDED[0], EmitKind.PER_EVENT, idle=False)
    pipeline = replace(
        pipeline,
        source=replace(pipeline.source, source_partition=SourcePartition(), where=None),
        windows=Windows(size_ms=10, allowed_lateness_ms=5),
    )
    constants = {"partition": "a", "mark": None, "value": None, "counts": True}
    rows = [{"id": i, "arrival_us": 10**9 + i, "ts": ts, **constants} for i, ts in enumerate((25, 5, 25))]
    advice = weigh(frame_of(session, rows, SCHEMA), pipeline, Settings((0, 10, 15, 16), (0, 5)))
    assert [candidate.on_time for candidate in advice.candidates] == [2, 2, 2, 2, 2, 2, 3, 3]
    for candidate in advice.candidates:
        assert_comes_true(candidate, rows, pipeline)


def test_settings_of_whole_windows_are_weighed_on_the_windows_own_grid(session: SparkSession) -> None:
    """All delays are windows long, and rows that are epochs are judged where windows begin: 3 ms behind the tens."""
    pipeline = drawn_pipeline(random.Random(0), BOUNDED[0], EmitKind.PER_EVENT, idle=False)
    pipeline = replace(
        pipeline,
        source=replace(pipeline.source, source_partition=SourcePartition(), where=None),
        watermark=replace(pipeline.watermark, out_of_orderness_ms=10),
        windows=Windows(size_ms=10, offset_ms=3, allowed_lateness_ms=0),
    )
    draw = random.Random(1)
    constants = {"partition": "a", "mark": None, "value": None, "counts": True}
    rows = [
        {"id": i, "arrival_us": 10**9 + 3000 * i, "ts": 3 * i - draw.choice([0, 0, 5, 12, 25, 40]), **constants}
        for i in range(60)
    ]
    advice = weigh(frame_of(session, rows, SCHEMA), pipeline, Settings((0, 10, 20), (0, 10)))
    assert len({candidate.too_late for candidate in advice.candidates}) > 3
    for candidate in advice.candidates:
        assert_comes_true(candidate, rows, pipeline)


def quantile(values: Sequence[int], share: float) -> int:
    return sorted(values)[max(0, ceil(len(values) * share - 1e-9) - 1)]


def measures(rows: Rows, pipeline: Pipeline) -> dict[str | None, dict[str, list[int]]]:
    """The three measures by partition, a row after the other."""
    values: dict[str | None, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    top: dict[Any, int] = {}
    last: dict[Any, int] = {}
    reader, moves_all = event_reader(pipeline, None), pipeline.watermark.placement.value == "source"
    events = [event for row in rows if isinstance(event := reader.read(row), Event)]
    for event in sorted((e for e in events if e.is_kept or moves_all), key=lambda e: e.position):
        name = event.partition
        assert event.arrival_us is not None
        row_values = {
            "out_of_order": max(0, top.get(name, event.ts) - event.ts),
            "delay": floor_to_ms(event.arrival_us - event.event_us),
        }
        if name in last:
            row_values["silence"] = floor_to_ms(event.clock_us - last[name])
        top[name], last[name] = max(top.get(name, event.ts), event.ts), event.clock_us
        for measure, value in row_values.items():
            values[name][measure].append(value)
            values[None][measure].append(value)
    return values


def assert_disorder(advice: Advice, rows: Rows, pipeline: Pipeline) -> None:
    expected = measures(rows, pipeline)
    assert {name: set(spreads) for name, spreads in advice.spreads.items()} == {n: set(t) for n, t in expected.items()}
    for name, spreads in advice.spreads.items():
        for measure, spread in spreads.items():
            values = expected[name][measure]
            assert (spread.rows, spread.zero, spread.max) == (len(values), values.count(0), max(values))
            for share, value in spread.quantiles.items():
                exact = quantile(values, float(share))
                assert exact <= value <= exact + abs(exact) / 512, (name, measure, share)


@pytest.mark.parametrize(
    "overrides",
    [
        sampled({}, quick=False, judges=True, id="tumbling"),
        sampled({"windows__kind": "sliding", "windows__slide": "4 minutes"}, quick=False, id="sliding"),
        sampled({"watermark__emit": "per_event", "windows__offset": "-3300 ms"}, quick=False, id="per_event"),
        sampled({"watermark__placement": "after_where", "watermark__idle_timeout": "90s"}, quick=False, id="idle"),
    ],
)
def test_the_history_s_candidates_come_true(session: SparkSession, table: str, overrides: dict[str, str]) -> None:
    pipeline = history.pipeline(table, **overrides)
    advice = advise(session, pipeline, Settings(target=Fraction(999, 1000)))
    best = advice.recommended
    assert best is not None
    assert best.completeness >= 0.999
    for candidate in [advice.now, best, *advice.candidates[:: max(1, len(advice.candidates) // 3)]]:
        assert_comes_true(candidate, history.events(), pipeline)
    assert_disorder(advice, history.events(), pipeline)


@pytest.mark.soak
def test_no_readable_delay_below_the_recommended_one_is_enough(session: SparkSession, table: str) -> None:
    """Compare each candidate with a replay by the reference."""
    pipeline = history.pipeline(table)
    best = advise(session, pipeline, Settings(target=Fraction(99, 100))).recommended
    assert best is not None
    shorter = max(d for d in LADDER if d < best.final_after)
    counts = reference.replay(
        history.events(), with_settings(pipeline, replace(best, out_of_orderness=shorter, allowed_lateness=0))
    ).counts
    rows = counts["on_time"] + counts["late"] + counts["too_late"]
    assert counts["too_late"] / rows > 0.01


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        ({"windows__kind": "session", "windows__size": "null", "windows__gap": "1m"}, "windows.kind: with 'session'"),
        ({"windows__late_data": "update", "windows__allowed_lateness": "null"}, "windows.late_data: 'update'"),
        ({"windows__kind": "sliding", "windows__slide": "1 hour"}, "windows.slide"),
        (
            {"replay__order": "offset", "source__offset": "id", "source__arrival_time": "null"},
            "replay.order: with offset",
        ),
        (
            {"watermark__strategy": "none", "watermark__out_of_orderness": "null", "watermark__emit": "null"},
            "watermark.strategy: 'none'",
        ),
    ],
    ids=["session", "update", "gaps", "offset", "none"],
)
def test_pipelines_without_exact_candidates_are_refused_by_name(
    spark: SparkSession, overrides: dict[str, str], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        advise(spark, history.pipeline("/nowhere/at/all", **overrides), Settings())


def test_a_condition_that_keeps_no_row_is_refused(session: SparkSession, table: str) -> None:
    with pytest.raises(InputError, match="keeps no row"):
        advise(session, history.pipeline(table, source__where="reading > 1000"), Settings())


FILE = """\
# Kept as it is.
name: readings
source: {{table: {table}, event_time: happened_at, arrival_time: stored_at}}
watermark:
  out_of_orderness: 0s   # too short
  emit: {{every: 30 seconds}}
windows: {{kind: tumbling, size: 10 minutes, key: [device], aggregates: {{n: count(*)}}}}
"""


def test_write_puts_what_is_recommended_into_the_file_and_leaves_the_rest(
    session: SparkSession, table: str, tmp_path: Path
) -> None:
    file = tmp_path / "readings.yaml"
    file.write_text(FILE.format(table=table))
    before = load(file)
    best = advise(session, before, Settings((300_000,), (600_000,), Fraction(1, 2))).recommended
    assert advising.write(before, best)
    assert file.read_text() == FILE.format(table=table).replace("0s   #", "5 minutes   #").replace(
        "{kind", "{allowed_lateness: 10 minutes, kind"
    )
    after = load(file)
    assert not advising.write(after, best)
    windows = replace(before.windows, allowed_lateness_ms=600_000)
    assert after == replace(before, watermark=replace(before.watermark, out_of_orderness_ms=300_000), windows=windows)
    with pytest.raises(InputError, match="no settings are recommended"):
        advising.write(after, None)


def test_rows_that_equal_another_row_are_counted(spark: SparkSession) -> None:
    rows = [
        {"id": number, "happened_at": history.START, "stored_at": history.START + timedelta(seconds=number % 5)}
        for number in [*range(40), 3, 3, 7]
    ]
    again = [{**row, "stored_at": row["stored_at"] + timedelta(minutes=2)} for row in rows[:2]]
    every = [{"site": "north", "device": "a", "reading": 1.0, **row} for row in (*rows, *again)]
    pipeline = history.pipeline("any")
    advice = weigh(frame_of(spark, every, history.SCHEMA), pipeline, Settings())
    assert advice.repeated == 5
    named = history.pipeline("any", source__deduplicate="[id]")
    assert weigh(frame_of(spark, every, history.SCHEMA), named, Settings()).repeated == 0
