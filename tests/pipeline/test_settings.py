"""The settings by name are the pipeline's, and two pipelines differ in the settings that are named."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.pipeline import parse
from spark_jobs.pipeline.model import (
    Aggregate,
    Emit,
    EmitKind,
    Expectation,
    Mode,
    Pipeline,
    Quality,
    ReplayOrder,
    Source,
    SourcePartition,
    TimeField,
    Watermark,
    Windows,
)
from spark_jobs.pipeline.settings import changes, differences, of_results, settings


def test_settings_have_their_names_of_the_file_and_durations_their_units() -> None:
    pipeline = Pipeline(
        name="departures",
        source=Source("/lake/flights", TimeField("departed_at"), source_partition=SourcePartition(("origin",))),
        windows=Windows(3_600_000, key=("carrier", "origin"), aggregates=(Aggregate("flights", "count(*)"),)),
        watermark=Watermark(out_of_orderness_ms=21_600_000, emit=Emit(EmitKind.EVERY, 60_000)),
        quality=Quality(expectations=(Expectation("not_null", arguments={"column": "é"}),)),
        path="/home/someone/pipeline.yaml",
    )
    values = settings(pipeline)
    assert values["windows.size"] == "1 hour"
    assert values["windows.key"] == "carrier, origin"
    assert values["windows.aggregates.flights"] == "count(*)"
    assert values["watermark.out_of_orderness"] == "6 hours"
    assert values["watermark.emit.kind"] == "every"
    assert values["source.where"] == "not set"
    assert values["source.source_partition.columns"] == "origin"
    assert '"column": "é"' in values["quality.expectations"]
    assert not {name.partition(".")[0] for name in values} & {"path", "places"}, "the file's place changes nothing"


def parsed(more: str = "") -> Pipeline:
    return parse(
        "name: a\nsource: {table: t/t, event_time: at, arrival_time: at}\nwatermark: {out_of_orderness: 1s}\n"
        f"windows: {{size: 1h, key: [], aggregates: {{n: count(*)}}{more}}}\n"
    )


def test_differences_name_old_and_new_values() -> None:
    before, now = parsed(", allowed_lateness: 4h"), parsed(", allowed_lateness: 1h, accumulation: discarding")
    assert changes(of_results(before), of_results(now)) == [
        "windows.allowed_lateness: 4 hours -> 1 hour",
        "windows.accumulation: accumulating -> discarding",
    ]
    assert differences(of_results(before), "0", now).startswith("windows.allowed_lateness: 4 hours -> 1 hour; ")


def test_settings_without_an_effect_on_results_do_not_differ() -> None:
    before = replace(parsed(), quality=Quality(min_windows=3), replay=ReplayOrder(mode=Mode.COMPLETE))
    assert changes(of_results(before), of_results(parsed())) == []


def test_an_aggregate_more_or_less_is_a_difference() -> None:
    before = of_results(parsed())
    now = {**before, "windows.aggregates.total": "sum(x)"}
    assert changes(before, now) == ["windows.aggregates.total: not set -> sum(x)"]
    assert changes(now, before) == ["windows.aggregates.total: sum(x) -> not set"]


def test_a_setting_of_a_newer_version_differs_only_if_it_is_used() -> None:
    now = of_results(parsed())
    before = {name: value for name, value in now.items() if name != "windows.timezone"}
    assert changes(before, now) == []
    assert changes(before, {**now, "windows.timezone": "Asia/Tokyo"}) == ["windows.timezone: not set -> Asia/Tokyo"]


def test_a_run_without_settings_differs_by_its_fingerprint() -> None:
    now = parsed()
    assert differences({}, "0123456789abcdef", now) == f"fingerprint 0123456789abcdef -> {now.fingerprint}"


def test_many_differences_are_cut() -> None:
    before = {f"windows.aggregates.x{number}": "sum(x)" for number in range(9)}
    assert differences({**of_results(parsed()), **before}, "0", parsed()).endswith(" and 4 more")
