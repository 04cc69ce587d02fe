"""The plan of a run: which version of the source, which windows, under which id.

The id follows from what is asked (pipeline fingerprint, source, version, interval), so the same command finds the run
that an earlier attempt began.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import Option
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import source_changes
from spark_jobs.jobs.plan.arrival_slices import require_slices, rewritten
from spark_jobs.jobs.plan.check_join import check_join
from spark_jobs.jobs.plan.check_source import check_source
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation.resume import Resumption, can_resume, resumption
from spark_jobs.replay.supported import UnsupportedPipelineError, require_support
from spark_jobs.semantics.watermark.custom import GeneratorError
from spark_jobs.session import interpreting
from spark_jobs.tables import ledger, source
from spark_jobs.tables.effective_runs import EffectiveRuns, effective_runs
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import ARRIVALS, BACKFILL, FULL, PARTS, REPAIR, Run
from spark_jobs.tables.published import read_published

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ANEW = "everything is read again"


@dataclass(frozen=True)
class Plan:
    """What a run will do: the run, and the tables that it reads, by the names in `runner.pinned`.

    `note` says why everything is read, where a run over later arrivals could have gone on; and of a part of time what
    has changed in the source since the results around it were made.
    """

    run: Run
    tables: Mapping[str, str]
    note: str = ""

    @property
    def table(self) -> str:
        """The table that is read, or several with commas between them."""
        return ", ".join(self.tables.values())

    @property
    def reads(self) -> str:
        """Which version of what is read, in words."""
        return ", ".join(f"version {self.run.pinned[name]} of {table}" for name, table in self.tables.items())

    @property
    def interval(self) -> Interval:
        """The windows that the run replaces."""
        return Interval(self.run.interval_start, self.run.interval_end)


def plan(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    interval: Interval,
    arrived_to: datetime | None = None,
    *,
    restate: bool = False,
    repair: bool = False,
) -> Plan:
    """Plan a run over the source's newest version, of what arrived before `arrived_to` if that is given.

    A part of time is replayed as of what is published: of the same arrivals; a `repair` takes rows for its windows
    however late they came. Of arrivals that are covered already the run is that which has covered them. Raises
    InputError for a source that does not fit the pipeline, and for a part of time beside results that the pipeline gave
    with other settings, unless that is asked for (`restate`).
    """
    _require(pipeline, interval, arrived_to)
    done = ledger.published(spark, lake)
    standing = effective_runs(done)
    shown = standing.latest
    if not interval.whole:
        _require_kind(standing, pipeline)
        if not restate:
            _require_likeness(standing, pipeline)
    kind = _kind(interval, arrived_to, repair=repair)
    if arrived_to is not None:
        if shown is not None and covers(shown, pipeline, arrived_to):
            return Plan(shown, source.tables_of(pipeline))
    elif not interval.whole and shown is not None:
        arrived_to = shown.arrived_to
    versions = checked(spark, pipeline)
    goes_on, note = None, ""
    if arrived_to is not None and interval.whole:
        goes_on, note = _going_on(spark, pipeline, lake, standing, versions)
    elif kind in PARTS and standing.latest is not None:
        source_changes.require_types(spark, pipeline, lake, standing.latest, versions)
        note = source_changes.note(spark, pipeline, standing.base, versions)
    if goes_on is not None:
        interval = Interval(_EPOCH + timedelta(milliseconds=goes_on.oldest_ms), None)
    run_id = _run_id(pipeline, versions, interval, arrived_to, shown if kind == ARRIVALS else None, kind)
    known = ledger.find(spark, lake, run_id)
    while known is not None and (since := _gone_since(known, done, standing)) is not None:
        # Nothing is published twice under one name.
        run_id = _hashed(f"{run_id}\nagain after {since}")
        known = ledger.find(spark, lake, run_id)
    run = known or Run(
        run_id=run_id,
        pipeline=pipeline.name,
        fingerprint=pipeline.fingerprint,
        kind=kind,
        source_version=next(iter(versions.values())),
        interval_start=interval.start,
        interval_end=interval.end,
        source_versions=versions if pipeline.sources else {},
        arrived_from=None if goes_on is None else _EPOCH + timedelta(microseconds=goes_on.covered_us),
        arrived_to=arrived_to,
    )
    return Plan(run, source.tables_of(pipeline), note)


def _kind(interval: Interval, arrived_to: datetime | None, *, repair: bool) -> str:
    if not interval.whole:
        return REPAIR if repair else BACKFILL
    return FULL if arrived_to is None else ARRIVALS


def _require(pipeline: Pipeline, interval: Interval, arrived_to: datetime | None) -> None:
    """Raise InputError for what cannot be replayed, whatever the source holds."""
    if interval.start and interval.end and interval.start >= interval.end:
        raise InputError(f"--from and --to: asked for [{interval.start}, {interval.end}), which holds no window")
    if pipeline.join is None:
        try:
            require_support(pipeline)
        except UnsupportedPipelineError as problem:
            raise InputError(str(problem)) from problem
        except GeneratorError as problem:
            raise InputError(f"watermark.class: {problem}") from problem
    _aligned(interval, pipeline)
    if arrived_to is None:
        return
    require_slices(pipeline, arrived_to)
    if not interval.whole:
        raise InputError("--arrived-to: asked for a part of arrivals and with --from or --to for one of windows")


def _require_kind(standing: EffectiveRuns, pipeline: Pipeline) -> None:
    """Pairs of a join and results of windows are told in other tables, and beside a part of one there is no other."""
    whole = standing.base
    if whole is not None and ("pairs" in whole.versions) != (pipeline.join is not None):
        asked, found = ("windows", "a join") if pipeline.join is None else ("a join", "windows")
        raise InputError(
            f"--from and --to: asked for a part of the results of {asked}, "
            f"found those of {found} (run {whole.run_id}): replay everything"
        )


def _require_likeness(standing: EffectiveRuns, pipeline: Pipeline) -> None:
    whole = standing.base
    # Complete results change no faithful one: a part of time may have them, or lack them.
    if whole is not None and whole.fingerprint not in pipeline.same_results:
        raise InputError(
            f"--from and --to: asked for a part of the results of {pipeline.name} as it is now (fingerprint "
            f"{pipeline.fingerprint}), found the others to be of other settings ({whole.fingerprint}, run "
            f"{whole.run_id}): replay everything, or give --restate to have both side by side"
        )


def _going_on(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, standing: EffectiveRuns, versions: Mapping[str, int]
) -> tuple[Resumption | None, str]:
    """Where a run over later arrivals goes on; none with what stands in the way, if it is not a matter of course."""
    shown, whole = standing.latest, standing.base
    if shown is None or whole is None or shown.arrived_to is None or not can_resume(pipeline):
        return None, ""
    if pipeline.is_complete:
        return None, f"{_ANEW}: replay.mode complete asks for all rows of windows that were closed"
    if shown.fingerprint != pipeline.fingerprint or "advances" not in shown.versions:
        return None, f"{_ANEW}: the pipeline is not the one whose results are published"
    # A part of time may have been replayed on a later version than the rest.
    changed = rewritten(spark, pipeline, whole.source_version, versions[""], shown.arrived_to)
    if changed is not None:
        return None, f"{_ANEW}: {pipeline.source.table}: {changed}"
    covered_us = (shown.arrived_to - _EPOCH) // timedelta(microseconds=1)
    return resumption(read_published(interpreting(spark), lake, "advances"), covered_us, pipeline), ""


def covers(shown: Run, pipeline: Pipeline, arrived_to: datetime) -> bool:
    """Whether what `shown` has published tells all that the pipeline would say by `arrived_to`."""
    known = shown.arrived_to is not None and shown.arrived_to >= arrived_to
    return known and shown.fingerprint == pipeline.fingerprint


def checked(spark: SparkSession, pipeline: Pipeline) -> dict[str, int]:
    """The newest version of each source, as `source.newest_versions`. Raises InputError for one that does not fit."""
    try:
        versions = source.newest_versions(spark, pipeline)
        if pipeline.join is None:
            check_source(source.events(spark, pipeline, versions), pipeline)
        else:
            check_join(*source.inputs(spark, pipeline, versions), pipeline)
    except SourceError as problem:
        raise InputError(str(problem)) from problem
    except InputError as problem:
        read = (f"version {versions[name]} of {table}" for name, table in source.tables_of(pipeline).items())
        raise InputError(f"{problem}\n(looked at {', '.join(read)})") from problem
    return versions


def _aligned(interval: Interval, pipeline: Pipeline) -> None:
    """A window is replaced as a whole or not at all; sessions begin anywhere, and none is cut by a bound."""
    if pipeline.windows.is_session:
        return
    # What is not in windows has its time in whole milliseconds.
    period, offset = pipeline.windows.period_ms or 1, pipeline.windows.offset_ms
    what = "window in two; windows" if pipeline.windows.period_ms else "millisecond in two; milliseconds"
    for option, moment in ((Option.FROM, interval.start), (Option.TO, interval.end)):
        if moment is None:
            continue
        into = (moment - _EPOCH - timedelta(milliseconds=offset)) % timedelta(milliseconds=period)
        if into:
            below, above = moment - into, moment - into + timedelta(milliseconds=period)
            raise InputError(
                f"{option}: asked for {moment.isoformat()}, which cuts a {what} begin at "
                f"{below.isoformat()} and {above.isoformat()}"
            )


def _run_id(
    pipeline: Pipeline,
    versions: Mapping[str, int],
    interval: Interval,
    arrived_to: datetime | None,
    shown: Run | None,
    kind: str,
) -> str:
    asked = [pipeline.fingerprint, pipeline.source.table, *versions.values(), str(interval.start), str(interval.end)]
    if arrived_to is not None:
        asked.append(f"arrived before {arrived_to}, on {shown.run_id if shown else 'nothing'}")
    if kind == REPAIR:
        asked.append("with rows that came too late")
    return _hashed("\n".join(map(str, asked)))


def _gone_since(run: Run, done: Sequence[Run], standing: EffectiveRuns) -> str | None:
    """Since when the tables do not hold what a run of the published ones, `done`, has published; None if they do."""
    names = [one.run_id for one in done]
    if run.run_id not in names or (not run.discarded and standing.contains(run)):
        return None
    return f"{run.steps[-1].finished_at}" if run.discarded else names[names.index(run.run_id) + 1]


def _hashed(asked: str) -> str:
    return "r" + hashlib.sha256(asked.encode()).hexdigest()[:15]
