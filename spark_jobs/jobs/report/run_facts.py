"""The facts of a run for its report: its steps, its publication, the run before it, and the settings beside its own."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version

from pyspark.sql import SparkSession

from spark_jobs import __version__
from spark_jobs.job_protocol import StepName
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.environment import hide_values
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.report import data as d
from spark_jobs.tables.lake import GATE_TABLE, Lake
from spark_jobs.tables.ledger import Run


def facts(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> d.RunFacts:
    """Return the facts of a run, without its report step, so that a second report has the same figures."""
    steps = tuple(
        d.StepFacts(s.step, s.state, s.started_at, (s.finished_at - s.started_at).total_seconds(), s.figures)
        for s in run.steps
        if s.step != StepName.REPORT
    )
    software = {"Tidemark": __version__, "Spark": spark.version, "Delta": version("delta-spark")}
    published = run.finished_step(StepName.PUBLISH)
    return d.RunFacts(
        run_id=run.run_id,
        fingerprint=run.fingerprint,
        kind=run.kind,
        state=run.state,
        source_table=hide_values(pipeline.source.table),
        source_version=run.source_version,
        lake=lake.home,
        interval_start=run.interval_start,
        interval_end=run.interval_end,
        started_at=run.started_at,
        finished_at=max((s.finished_at for s in run.steps if s.step != StepName.REPORT), default=None),
        published_at=published.finished_at if published else None,
        seconds=sum(step.seconds for step in steps),
        error=next((s.error for s in reversed(run.steps) if s.step != StepName.REPORT), None),
        accepted=run.accepted,
        steps=steps,
        versions=run.versions,
        software={**software, "Python": platform.python_version()},
    )


def earlier(run: Run, published: Iterable[Run]) -> d.EarlierRun | None:
    """Return the run over the same part of time that was published before `run`, from runs in their order."""
    place = run.versions.get(GATE_TABLE)
    comparable = [
        other
        for other in published
        if other.run_id != run.run_id
        and (place is None or other.versions[GATE_TABLE] < place)
        and (other.kind, other.interval_start, other.interval_end) == (run.kind, run.interval_start, run.interval_end)
    ]
    if not comparable:
        return None
    before = comparable[-1]
    step = before.finished_step(StepName.PUBLISH)
    return d.EarlierRun(before.run_id, step.finished_at if step else None, before.counts)


def alternative(entry: Mapping[str, int | str], pipeline: Pipeline) -> d.Alternative:
    """Return the numbers of an alternative; durations are milliseconds, or text of another source of alternatives."""

    def duration(name: str) -> str:
        value = entry[name]
        return format_duration(value) if isinstance(value, int) else value

    own = (pipeline.watermark.bound_ms, pipeline.windows.allowed_lateness_ms)
    is_used = (entry["out_of_orderness"], entry["allowed_lateness"]) == own
    rows = {name: int(entry[name]) for name in ("on_time", "late", "too_late")}
    return d.Alternative(duration("out_of_orderness"), duration("allowed_lateness"), **rows, is_used=is_used)
