"""The settings on the page are the pipeline's."""

from __future__ import annotations

from spark_jobs.pipeline.model import (
    Aggregate,
    Emit,
    EmitKind,
    Expectation,
    Pipeline,
    Quality,
    Source,
    SourcePartition,
    TimeField,
    Watermark,
    Windows,
)
from spark_jobs.report.settings import settings


def test_settings_have_their_names_of_the_file_and_durations_their_units() -> None:
    pipeline = Pipeline(
        name="departures",
        source=Source("/lake/flights", TimeField("departed_at"), source_partition=SourcePartition(("origin",))),
        windows=Windows(3_600_000, key=("carrier", "origin"), aggregates=(Aggregate("flights", "count(*)"),)),
        watermark=Watermark(out_of_orderness_ms=21_600_000, emit=Emit(EmitKind.EVERY, 60_000)),
        quality=Quality(expectations=(Expectation("not_null", arguments={"column": "é"}),)),
        path="/home/someone/pipeline.yaml",
    )
    values = {setting.name: setting.value for setting in settings(pipeline)}
    assert values["windows.size"] == "1 hour"
    assert values["windows.key"] == "carrier, origin"
    assert values["windows.aggregates.flights"] == "count(*)"
    assert values["watermark.out_of_orderness"] == "6 hours"
    assert values["watermark.emit.kind"] == "every"
    assert values["source.where"] == "not set"
    assert values["source.source_partition.columns"] == "origin"
    assert '"column": "é"' in values["quality.expectations"]
    assert "path" not in values, "where the file lay changes nothing"
