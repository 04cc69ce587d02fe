"""Several sources in a pipeline file: each with its watermark, and what they share declared once."""

from __future__ import annotations

import pytest

from spark_jobs.pipeline import PipelineError, parse
from spark_jobs.pipeline.model import EmitKind, Placement, Strategy

FILE = """
name: visits
sources:
  - name: web
    table: lake/web
    event_time: happened_at
    arrival_time: stored_at
    source_partition: [region]
    watermark: {out_of_orderness: 10 seconds}
  - name: app
    table: lake/app
    event_time: {column: ts, unit: ms}
    arrival_time: stored_at
    where: not is_test
    watermark: {strategy: monotonous, idle_timeout: 1 hour}
watermark: {emit: {every: 1 minute}, placement: after_where}
windows: {size: 1 hour, key: [source], aggregates: {visits: count(*)}}
"""


def test_each_source_has_its_own_watermark_and_all_share_the_emission() -> None:
    pipeline = parse(FILE)
    web, app = (pipeline.alone(united) for united in pipeline.sources)
    assert (web.source.table, web.watermark.out_of_orderness_ms) == ("lake/web", 10_000)
    assert (app.watermark.strategy, app.watermark.idle_timeout_ms) == (Strategy.MONOTONOUS, 3_600_000)
    for alone in (web, app):
        assert alone.watermark.emit.kind is EmitKind.EVERY
        assert alone.watermark.placement is Placement.AFTER_WHERE
    assert pipeline.source.table == "lake/web, lake/app"


def test_the_fingerprint_depends_on_the_watermark_of_each_source() -> None:
    assert parse(FILE).fingerprint != parse(FILE.replace("10 seconds", "11 seconds")).fingerprint


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: app", "name: web", "sources[1].name: found the name 'web' for the second time"),
        (
            "watermark: {emit: {every: 1 minute}, placement: after_where}",
            "watermark: {strategy: monotonous}",
            "watermark.strategy: belongs to the watermark of each source",
        ),
        (
            "    arrival_time: stored_at\n    where",
            "    where",
            "sources[1].arrival_time: missing; replay.order arrival needs",
        ),
        (
            "{strategy: monotonous,",
            "{strategy: bounded_out_of_orderness,",
            "sources[1].watermark.out_of_orderness: missing",
        ),
        ("{out_of_orderness: 10 seconds}", "{emit: per_event, out_of_orderness: 1s}", "it belongs to watermark"),
        ("windows:", "source: {table: t, event_time: ts}\nwindows:", "source: contradicts sources"),
        ("windows:", "replay: {order: commit}\nwindows:", "replay.order: commits and offsets are one table's own"),
    ],
)
def test_contradictions_between_sources_are_errors_with_their_key(old: str, new: str, message: str) -> None:
    assert old in FILE
    with pytest.raises(PipelineError) as refused:
        parse(FILE.replace(old, new))
    assert message in str(refused.value)


def test_one_source_is_written_as_source() -> None:
    text = FILE[: FILE.index("  - name: app")] + FILE[FILE.index("watermark: {emit") :]
    with pytest.raises(PipelineError, match="sources: found one source, expected two or more"):
        parse(text)


def test_a_pipeline_reads_something() -> None:
    nothing = FILE[: FILE.index("sources:")] + FILE[FILE.index("watermark: {emit") :]
    with pytest.raises(PipelineError, match="source: missing, expected a mapping with the keys table, event_time"):
        parse(nothing)
