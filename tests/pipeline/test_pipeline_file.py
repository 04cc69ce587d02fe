"""What a good pipeline file means."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.pipeline import (
    Accumulation,
    Aggregate,
    Alignment,
    Drift,
    Emit,
    EmitKind,
    EndOfInput,
    Expectation,
    Floats,
    Learned,
    OnFailure,
    Order,
    Pipeline,
    Placement,
    Problem,
    Quality,
    Repair,
    ReplayOrder,
    Schedule,
    Source,
    SourcePartition,
    Strategy,
    TimeField,
    TimeUnit,
    Upkeep,
    Watermark,
    Windows,
    from_mapping,
    load,
    parse,
)

MINIMAL = """\
name: clicks
source: {table: lake.web.clicks, event_time: ts, arrival_time: seen}
watermark: {out_of_orderness: 5 s}
windows: {size: 1 minute, key: [], aggregates: {n: count(*)}}
"""


def test_every_key_of_the_contract_arrives_in_the_model(flights: str, environ: dict[str, str]) -> None:
    assert parse(flights, environ=environ) == Pipeline(
        name="departures_by_carrier",
        source=Source(
            table="/lake/flights",
            event_time=TimeField("departed_at"),
            arrival_time=TimeField("landed_at"),
            source_partition=SourcePartition(("origin",)),
            tie_break=("flight_id",),
            where="tailnum is not null",
            future_guard_ms=86_400_000,
        ),
        replay=ReplayOrder(Order.ARRIVAL, EndOfInput.CLOSE),
        watermark=Watermark(
            Strategy.BOUNDED_OUT_OF_ORDERNESS,
            out_of_orderness_ms=21_600_000,
            placement=Placement.SOURCE,
            emit=Emit(EmitKind.EVERY, interval_ms=60_000, phase_ms=10_000),
        ),
        windows=Windows(
            size_ms=3_600_000,
            offset_ms=-900_000,
            key=("carrier",),
            allowed_lateness_ms=7_200_000,
            accumulation=Accumulation.ACCUMULATING,
            aggregates=(Aggregate("flights", "count(*)"), Aggregate("mean_delay", "avg(dep_delay)")),
        ),
        quality=Quality(
            OnFailure.BLOCK,
            max_too_late_ratio=0.01,
            expectations=(
                Expectation("expect_column_values_to_be_between", "panes", {"column": "mean_delay", "min_value": -60}),
            ),
        ),
        schedule=Schedule("@daily"),
    )


def test_windows_may_slide(flights: str, environ: dict[str, str]) -> None:
    sliding = flights.replace("kind: tumbling", "kind: sliding\n  slide: 20 min")
    windows = parse(sliding, environ=environ).windows
    assert (windows.kind, windows.size_ms, windows.slide_ms, windows.offset_ms) == (
        "sliding",
        3_600_000,
        1_200_000,
        -900_000,
    )
    assert windows.period_ms == 1_200_000
    assert parse(flights, environ=environ).windows.period_ms == 3_600_000


def test_a_custom_watermark_names_its_class_and_the_fingerprint_holds_it(
    edit: Callable[..., str], environ: dict[str, str]
) -> None:
    bound = "strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours\n"
    named = "strategy: custom\n  class: company.clocks:Device\n  arguments: {rows: 5, zone: north}\n"
    custom = parse(edit((bound, named)), environ=environ)
    assert (custom.watermark.generator, custom.watermark.arguments) == (
        "company.clocks:Device",
        {"rows": 5, "zone": "north"},
    )
    changes = (named.replace("Device", "Site"), named.replace("rows: 5", "rows: 6"))
    assert custom.fingerprint not in {parse(edit((bound, other)), environ=environ).fingerprint for other in changes}


BY_OFFSET = ("  order: arrival\n", "  order: offset\n  rows_per_round: 50\n")
OFFSET = ("  tie_break: [flight_id]\n", "  tie_break: [flight_id]\n  offset: position\n")


def test_offsets_make_rounds_and_partitions_may_be_aligned(edit: Callable[..., str], environ: dict[str, str]) -> None:
    bound = "  out_of_orderness: 6 hours\n"
    aligned = (bound, bound + "  alignment: {max_drift: 1 hour, update_interval: 1 minute}\n")
    pipeline = parse(edit(BY_OFFSET, OFFSET, aligned), environ=environ)
    assert (pipeline.replay.order, pipeline.replay.rows_per_round, pipeline.source.offset) == ("offset", 50, "position")
    assert pipeline.watermark.alignment == Alignment(3_600_000, 60_000)
    assert parse(edit(BY_OFFSET, OFFSET), environ=environ).watermark.alignment is None


#: Six o'clock in a zone two hours ahead.
SIX = datetime(2026, 1, 1, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("strategy: time_lag\n  lag: 1 h\n", "watermark.strategy: time_lag lags behind the clock of arrival"),
        (
            "strategy: custom\n  class: a:B\n  alignment: {max_drift: 1 h}\n",
            "watermark.alignment: aligns partitions by their rows, and watermark.strategy custom ignores them",
        ),
        (
            "strategy: monotonous\n  idle_timeout: 1 h\n  alignment: {max_drift: 1 h}\n",
            "watermark.alignment: contradicts idle_timeout: a partition that waits for others is not idle",
        ),
        ("strategy: monotonous\n  alignment: {update_interval: 1 h}\n", "watermark.alignment.max_drift: missing"),
    ],
)
def test_settings_that_rounds_of_offsets_cannot_follow_are_refused(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], settings: str, message: str
) -> None:
    bound = "strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours\n"
    [problem] = problems_of(edit(BY_OFFSET, OFFSET, (bound, settings)))
    assert message in str(problem)


def test_what_is_left_out_has_the_defaults_of_the_model() -> None:
    pipeline = parse(MINIMAL)
    assert pipeline == Pipeline(
        name="clicks",
        source=Source("lake.web.clicks", TimeField("ts"), TimeField("seen")),
        watermark=Watermark(out_of_orderness_ms=5_000),
        windows=Windows(size_ms=60_000, aggregates=(Aggregate("n", "count(*)"),)),
    )
    assert pipeline.source.future_guard_ms == 86_400_000
    assert pipeline.watermark.emit.kind is EmitKind.PER_EVENT


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("departed_at", TimeField("departed_at")),
        ('"timestamp_millis(ts)"', TimeField("timestamp_millis(ts)")),
        ("{column: ts}", TimeField("ts")),
        ("{column: ts, timezone: Europe/Berlin}", TimeField("ts", timezone="Europe/Berlin")),
        ("{column: ts, timezone: '-18:00'}", TimeField("ts", timezone="-18:00")),
        ("{column: ts, timezone: '+17:59'}", TimeField("ts", timezone="+17:59")),
        ("{column: ts, unit: s}", TimeField("ts", unit=TimeUnit.SECONDS)),
        ("{column: ts, unit: ms}", TimeField("ts", unit=TimeUnit.MILLISECONDS)),
        ("{column: ts, unit: us}", TimeField("ts", unit=TimeUnit.MICROSECONDS)),
        ("{column: ts, unit: ns}", TimeField("ts", unit=TimeUnit.NANOSECONDS)),
        ("{column: ts, format: yyyy-MM-dd}", TimeField("ts", format="yyyy-MM-dd")),
        (
            "{column: ts, format: yyyy-MM-dd, timezone: Europe/Berlin}",
            TimeField("ts", format="yyyy-MM-dd", timezone="Europe/Berlin"),
        ),
        (
            "{column: ts, format: yyyy-MM-dd, timezone: '+02:00'}",
            TimeField("ts", format="yyyy-MM-dd", timezone="+02:00"),
        ),
    ],
)
def test_a_time_is_an_expression_or_a_column_with_its_unit_or_format(
    edit: Callable[..., str], environ: dict[str, str], setting: str, expected: TimeField
) -> None:
    text = edit(("event_time: departed_at", f"event_time: {setting}"), ("time: landed_at", f"time: {setting}"))
    source = parse(text, environ=environ).source
    assert (source.event_time, source.arrival_time) == (expected, expected)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("[]", SourcePartition()),
        ("[region, host]", SourcePartition(("region", "host"))),
        ("{columns: [origin]}", SourcePartition(("origin",))),
        ("{columns: [origin], declared: []}", SourcePartition(("origin",))),
        ("{columns: [origin], declared: [EWR, JFK]}", SourcePartition(("origin",), (("EWR",), ("JFK",)))),
        ("{columns: [p], declared: [0, 1, 007, '2']}", SourcePartition(("p",), ((0,), (1,), ("007",), ("2",)))),
        ("{columns: [a, b], declared: [[x, 1], [y, 2]]}", SourcePartition(("a", "b"), (("x", 1), ("y", 2)))),
    ],
)
def test_a_source_partition_is_columns_and_may_declare_values(
    edit: Callable[..., str], environ: dict[str, str], setting: str, expected: SourcePartition
) -> None:
    assert parse(edit(("[origin]", setting)), environ=environ).source.source_partition == expected


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("per_event", Emit(EmitKind.PER_EVENT)),
        ("{every: 1 minute}", Emit(EmitKind.EVERY, interval_ms=60_000)),
        ("{every: 1 minute, phase: 59 s}", Emit(EmitKind.EVERY, interval_ms=60_000, phase_ms=59_000)),
        ("{every_n: 1000}", Emit(EmitKind.EVERY_N, n=1000)),
    ],
)
def test_an_emission_follows_a_clock_a_row_or_a_number_of_rows(
    edit: Callable[..., str], environ: dict[str, str], setting: str, expected: Emit
) -> None:
    assert parse(edit(("{every: 1 minute, phase: 10 s}", setting)), environ=environ).watermark.emit == expected


@pytest.mark.parametrize(
    ("old", "new", "path", "value"),
    [
        ("future_guard: 1 day", "future_guard: none", "source.future_guard_ms", None),
        ("future_guard: 1 day", "future_guard: 0s", "source.future_guard_ms", 0),
        ("order: arrival", "order: event_time", "replay.order", Order.EVENT_TIME),
        ("end_of_input: close", "end_of_input: keep_open", "replay.end_of_input", EndOfInput.KEEP_OPEN),
        ("placement: source", "placement: after_where", "watermark.placement", Placement.AFTER_WHERE),
        ("out_of_orderness: 6 hours", "out_of_orderness: 0s", "watermark.out_of_orderness_ms", 0),
        ("key: [carrier]", "key: []", "windows.key", ()),
        ("accumulation: accumulating", "accumulation: discarding", "windows.accumulation", Accumulation.DISCARDING),
        ("accumulation: accumulating", "floats: arrival_order", "windows.floats", Floats.ARRIVAL_ORDER),
        ("accumulation: accumulating", "floats: exact", "windows.floats", Floats.EXACT),
        ("on_failure: block", "on_failure: warn", "quality.on_failure", OnFailure.WARN),
        ("on_failure: block", "on_failure: ask", "quality.on_failure", OnFailure.ASK),
        ('schedule: "@daily"', "repair: {max_too_late_rows: 0, ask: true}", "repair", Repair(0, None, True)),
        ('schedule: "@daily"', "maintenance: {}", "maintenance", Upkeep()),
        ('schedule: "@daily"', "maintenance: {retain: 7 days, keep_runs: 3}", "maintenance", Upkeep(604_800_000, 3)),
        ('schedule: "@daily"', "repair: {max_too_late_ratio: 0.5}", "repair", Repair(None, 0.5, False)),
        ("ratio: 0.01", "ratio: 1e-3", "quality.max_too_late_ratio", 0.001),
        ("ratio: 0.01", "ratio: 0", "quality.max_too_late_ratio", 0.0),
        ("ratio: 0.01", "ratio: learned", "quality.max_too_late_ratio", Learned.LEARNED),
        ("max_too_late_ratio: 0.01", "max_late_ratio: 0.2", "quality.max_late_ratio", 0.2),
        ("max_too_late_ratio: 0.01", "max_invalid_ratio: learned", "quality.max_invalid_ratio", Learned.LEARNED),
        ("max_too_late_ratio: 0.01", "data_docs: true", "quality.data_docs", True),
        ("max_too_late_ratio: 0.01", "drift: {tolerance: 0.5}", "quality.drift", Drift(0.5)),
        (
            "max_too_late_ratio: 0.01",
            "drift: {tolerance: 1, every: 1 day, seasons: 2, measures: {flights: sum(flights)}}",
            "quality.drift",
            Drift(1.0, 86_400_000, 2, (Aggregate("flights", "sum(flights)"),)),
        ),
        ('"@daily"', "0  6 * * mon-fri", "schedule", Schedule("0 6 * * mon-fri")),
        ('"@daily"', '"*/15 * * * *"', "schedule", Schedule("*/15 * * * *")),
        ('"@daily"', "{cron: '@daily', start: 2026-01-01T06:00+02:00}", "schedule", Schedule("@daily", start=SIX)),
        ('"@daily"', "{cron: '@daily', start: 2026-01-01T04:00, slices: 3}", "schedule.slices", 3),
        ('"@daily"', "{cron: '@daily', start: 2026-01-01T04:00, slices: 3}", "schedule.start", SIX),
        ('"@daily"', "{cron: '@daily', catchup: false}", "schedule", Schedule("@daily")),
        ('"@daily"', "{assets: [a], slices: 2}", "schedule", Schedule(assets=("a",), slices=2)),
        ('"@daily"', "{assets: [s3://a/b, orders]}", "schedule", Schedule(assets=("s3://a/b", "orders"))),
    ],
)
def test_each_alternative_is_understood(
    edit: Callable[..., str], environ: dict[str, str], old: str, new: str, path: str, value: object
) -> None:
    setting: Any = parse(edit((old, new)), environ=environ)
    for part in path.split("."):
        setting = getattr(setting, part)
    assert setting == value


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            "strategy: punctuated\n  when: is_mark\n  value: {column: mark, unit: s}",
            Watermark(Strategy.PUNCTUATED, when="is_mark", value=TimeField("mark", TimeUnit.SECONDS)),
        ),
        ("strategy: punctuated\n  when: kind = 'mark'", Watermark(Strategy.PUNCTUATED, when="kind = 'mark'")),
        ("strategy: time_lag\n  lag: 5 minutes", Watermark(Strategy.TIME_LAG, lag_ms=300_000)),
        ("strategy: none", Watermark(Strategy.NONE)),
        (
            "strategy: monotonous\n  idle_timeout: 12 hours",
            Watermark(Strategy.MONOTONOUS, idle_timeout_ms=43_200_000),
        ),
    ],
)
def test_each_strategy_has_its_settings_beside_it(edit: Callable[..., str], settings: str, expected: Watermark) -> None:
    text = edit(
        ("strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours", settings),
        ("  emit: {every: 1 minute, phase: 10 s}\n", ""),
    )
    assert parse(text, environ={"TIDEMARK_LAKE": "/lake"}).watermark == expected


def test_monotonous_needs_no_bound(edit: Callable[..., str], environ: dict[str, str]) -> None:
    text = edit(("strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours", "strategy: monotonous"))
    watermark = parse(text, environ=environ).watermark
    assert (watermark.strategy, watermark.out_of_orderness_ms) == (Strategy.MONOTONOUS, 0)


def test_event_time_order_needs_no_arrival_time() -> None:
    text = MINIMAL.replace(", arrival_time: seen", "") + "replay: {order: event_time}\n"
    assert parse(text).source.arrival_time is None


def test_expectation_arguments_keep_their_types(edit: Callable[..., str], environ: dict[str, str]) -> None:
    arguments = "{a: 1, b: 0.5, c: true, d: null, e: [1, x], f: {g: '1'}, h: 2013-01-01, i: 12:30}"
    text = edit(("      min_value: -60", f"      value_set: {arguments}"))
    assert parse(text, environ=environ).quality.expectations[0].arguments["value_set"] == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": None,
        "e": [1, "x"],
        "f": {"g": "1"},
        "h": "2013-01-01",
        "i": "12:30",
    }


def test_an_expectation_without_a_table_is_about_panes(edit: Callable[..., str], environ: dict[str, str]) -> None:
    assert parse(edit(("      table: panes\n", "")), environ=environ).quality.expectations[0].table == "panes"


def test_a_mapping_means_what_the_same_yaml_means(flights: str, environ: dict[str, str]) -> None:
    assert from_mapping(yaml.safe_load(flights), environ=environ) == parse(flights, environ=environ)


def test_text_of_a_mapping_is_never_taken_for_a_boolean_or_number() -> None:
    mapping = yaml.safe_load(MINIMAL)
    mapping["windows"]["aggregates"] = {"on": "no", "n": "1"}
    mapping["source"]["source_partition"] = {"columns": ("c",), "declared": ["no", "1"]}
    pipeline = from_mapping(mapping)
    assert pipeline.windows.aggregates == (Aggregate("on", "no"), Aggregate("n", "1"))
    assert pipeline.source.source_partition.declared == (("no",), ("1",))


def test_a_loaded_pipeline_knows_its_file_but_is_the_same_without(tmp_path: Path) -> None:
    path = tmp_path / "clicks.yaml"
    path.write_text("\ufeff" + MINIMAL, encoding="utf-8")
    assert load(path).path == str(path)
    assert load(path) == parse(MINIMAL)
    assert load(path).fingerprint == parse(MINIMAL).fingerprint


def test_the_fingerprint_changes_with_meaning_alone() -> None:
    pipeline = parse(MINIMAL)
    same = parse(
        MINIMAL + "schedule: '@daily'\nquality: {on_failure: warn}\nrepair: {max_too_late_rows: 3}\n# a comment\n"
    )
    other = parse(MINIMAL.replace("5 s", "6 s"))
    assert same.fingerprint == pipeline.fingerprint != other.fingerprint


def test_catching_up_begins_somewhere_and_goes_on(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], environ: dict[str, str]
) -> None:
    def caught_up(since: str) -> str:
        schedule = f'{{cron: "@daily"{since}, catchup: true}}'
        return edit(("end_of_input: close", "end_of_input: keep_open"), ('"@daily"', schedule))

    begins = caught_up(", start: 2026-01-01T04:00")
    assert parse(begins, environ=environ).schedule == Schedule("@daily", start=SIX, catchup=True)
    (problem,) = problems_of(caught_up(""))
    expected = "missing, expected where the first of the intervals that catchup runs begins"
    assert (problem.key, problem.message) == ("schedule.start", expected)
    (problem,) = problems_of(begins.replace("order: arrival", "order: event_time"))
    assert problem.key == "schedule.catchup"
