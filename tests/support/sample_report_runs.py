"""Runs written by hand, for reports to show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from spark_jobs.report.data import (
    Alternative,
    CheckResult,
    Combined,
    Completeness,
    EarlierRun,
    LateMark,
    LateMarks,
    Lateness,
    LateRow,
    PartitionLine,
    PartitionLines,
    ReportData,
    Results,
    RunFacts,
    Series,
    Setting,
    StepFacts,
    TooLateKey,
    TooLateWindow,
    WatermarkLine,
)

FIGURES = {
    "seconds": 50.0,
    "startup_seconds": 4.25,
    "spark_jobs": 31.0,
    "task_seconds": 88.5,
    "native_share": 0.625,
    "skew": 1.75,
    "rows_read": 3_000_000.0,
    "rows_per_second": 60_000.0,
    "bytes_read": 3_221_225_472.0,
    "bytes_written": 1536.0,
    "shuffle_bytes_written": 0.0,
    "shuffle_bytes_read": 512.0,
    "spill_memory_bytes": 0.0,
    "spill_disk_bytes": 0.0,
}
HOUR = 3_600_000
START = 1_357_016_400_000
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*7 }}$$x^2$$\u202e\ud800&amp;</script><!--"


def published() -> RunFacts:
    """A published run."""
    at = datetime(2026, 1, 5, 7, tzinfo=UTC)
    return RunFacts(
        run_id="r0123456789abcde",
        fingerprint="0123456789abcdef",
        kind="full",
        state="published",
        source_table="/lake/flights",
        source_version=11,
        lake="/lake/departures_by_carrier",
        started_at=at,
        finished_at=at,
        published_at=at,
        seconds=55.75,
        steps=(StepFacts("plan", "done", at, 0.5), StepFacts("replay", "done", at, 55.75, FIGURES)),
        versions={"late_events": 3, "panes": 3, "window_results": 4},
        software={"Spark": "4.1.3"},
    )


def eventful() -> ReportData:
    """A run in which something of everything happened."""
    late = LateMark(START + 9 * HOUR, START, START + HOUR, START + HOUR, 3)
    too_late = LateMark(START + 12 * HOUR, START, START + HOUR, START + 4 * HOUR, 2)
    return ReportData(
        pipeline="departures_by_carrier",
        run=published(),
        description="Tumbling windows of 1 hour per carrier; bound 30 minutes, allowed lateness 2 hours",
        file="dags/pipelines/departures by carrier.yaml",
        earlier=EarlierRun("r00000000000000a", published().published_at, {"rows_read": 16, "late": 3, "too_late": 0}),
        counts={
            "rows_read": 20,
            "on_time": 12,
            "late": 3,
            "too_late": 2,
            "invalid": 2,
            "filtered": 1,
            "windows": 4,
            "panes": 7,
            "late_panes": 3,
        },
        allowed_lateness_ms=2 * HOUR,
        bounds_ms=(HOUR // 2,),
        key=("carrier",),
        settings=(Setting("windows.allowed_lateness", "2 hours"),),
        watermark=WatermarkLine((START + 8 * HOUR, START + 11 * HOUR), (START + HOUR, START + 4 * HOUR), 2, 1, 0),
        partitions=PartitionLines(
            fires_at_ms=(START + 8 * HOUR, START + 11 * HOUR),
            watermark_ms=(START + HOUR, START + 4 * HOUR),
            lines=(
                PartitionLine("EWR", (START, START), (True, True)),
                PartitionLine("JFK", (None, START + 4 * HOUR), (True, False)),
            ),
            partitions=3,
            emissions=5,
        ),
        completeness=Completeness(
            starts_ms=(START, START + HOUR, START + 5 * HOUR),
            ends_ms=(START + HOUR, START + 2 * HOUR, START + 6 * HOUR),
            taken=(9, 4, 2),
            missed=(2, 0, 0),
        ),
        late=LateMarks(3, 1, (late,)),
        too_late=LateMarks(2, 1, (too_late,)),
        lateness=Lateness((0, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR), (3, 0, 0, 0), (0, 0, 0, 2), 3 * HOUR + 1),
        results=Results(
            starts_ms=(START, START + HOUR, START + 5 * HOUR),
            ends_ms=(START + HOUR, START + 2 * HOUR, START + 6 * HOUR),
            windows=3,
            series=(
                Series("row_count", Combined.SUM, (9.0, 4.0, 2.0)),
                Series("mean_delay", Combined.MEAN, (12.5, None, float("nan"))),
            ),
            not_drawn=("carriers",),
        ),
        checks=(
            CheckResult("panes", "windows are aligned", True, "4 windows", 0),
            CheckResult("run", "rows are conserved", False, "19 of 20", 1, ('{"key": {"carrier": "AA"}}',)),
        ),
        too_late_windows=(
            TooLateWindow(START, START + HOUR, 2, 4 * HOUR, START + 4 * HOUR, START + 12 * HOUR, START + 13 * HOUR),
        ),
        late_rows=(
            LateRow(("UA",), START, START + 12 * HOUR, START + HOUR, START + 4 * HOUR),
            LateRow((None,), START + HOUR, None, None, START + 4 * HOUR),
        ),
        too_late_keys=(TooLateKey(("UA",), 1, 4 * HOUR), TooLateKey((None,), 1, HOUR)),
        invalid_reasons={"event_time_missing": 2},
        alternatives=(
            Alternative("30 minutes", "2 hours", 12, 3, 2, is_used=True),
            Alternative("1 hour", "0s", 10, 0, 7),
        ),
    )


def hostile(data: ReportData) -> ReportData:
    """The same with markup, quotes, templates, broken and turning characters wherever data has words."""
    return replace(
        data,
        pipeline=HOSTILE,
        description=HOSTILE,
        file=HOSTILE,
        earlier=EarlierRun(HOSTILE, None, {HOSTILE: 1}),
        run=replace(
            data.run,
            run_id=HOSTILE,
            fingerprint=HOSTILE,
            kind=HOSTILE,
            state=HOSTILE,
            source_table=HOSTILE,
            lake=HOSTILE,
            error=HOSTILE,
            steps=tuple(replace(s, step=HOSTILE, state=HOSTILE) for s in data.run.steps),
            versions={HOSTILE: 1, "window_results": 4},
            software={HOSTILE: HOSTILE},
        ),
        key=(HOSTILE,),
        partitions=replace(data.partitions, lines=tuple(replace(line, name=HOSTILE) for line in data.partitions.lines)),
        settings=(Setting(HOSTILE, HOSTILE),),
        results=replace(
            data.results,
            series=tuple(replace(s, name=HOSTILE, same_as=(HOSTILE,)) for s in data.results.series),
            not_drawn=(HOSTILE,),
        ),
        checks=(CheckResult(HOSTILE, HOSTILE, False, HOSTILE, None, (HOSTILE,) * 9),),
        too_late_keys=(TooLateKey((HOSTILE,), 1, 1),),
        late_rows=tuple(replace(row, key=(HOSTILE,)) for row in data.late_rows),
        invalid_reasons={HOSTILE: 1},
        alternatives=(Alternative(HOSTILE, HOSTILE, 1, 1, 1),),
    )
