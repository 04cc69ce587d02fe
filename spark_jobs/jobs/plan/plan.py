"""The plan of a run: which version of the source, which windows, under which id.

The id is a hash of pipeline fingerprint, source with its table id and version, and interval. So the same command finds
the run that an earlier attempt began, and a table that was made anew has other runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import source_changes
from spark_jobs.jobs.plan.arrival_slices import require_slices
from spark_jobs.jobs.plan.plan_tables import PlanTables
from spark_jobs.jobs.plan.requested_windows import require_windows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.settings import differences, of_results
from spark_jobs.replay.continuation.resume import Resumption, can_resume
from spark_jobs.replay.supported import UnsupportedPipelineError, require_support
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.semantics.watermark.custom import GeneratorError
from spark_jobs.tables.effective_runs import EffectiveRuns, effective_runs
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.run import ARRIVALS, BACKFILL, FULL, PARTS, REPAIR, Run, in_order
from spark_jobs.tables.source_tables import tables_of

_ANEW = "everything is read again"


@dataclass(frozen=True)
class Plan:
    """The plan: the run, and the tables that it reads, by the names in `runner.pinned`.

    `note` is the reason why a run over later arrivals cannot resume and reads everything. For a part of time it is the
    change of the source since the results around it. For all of time it names settings that differ from the results.
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
        """The version of each table that is read, in words."""
        return ", ".join(f"version {self.run.pinned[name]} of {table}" for name, table in self.tables.items())

    @property
    def interval(self) -> Interval:
        """The windows that the run replaces."""
        return Interval(self.run.interval_start, self.run.interval_end)


def plan(
    tables: PlanTables,
    interval: Interval,
    arrived_to: datetime | None = None,
    *,
    restate: bool = False,
    repair: bool = False,
) -> Plan:
    """Plan a run over the source's newest version, with `arrived_to` over the rows that arrived before it.

    A part of time is replayed with the same arrivals as the published results. A `repair` accepts all late rows of its
    windows. For arrivals that a published run covers, the plan is that run.

    Raises InputError for a source that does not fit the pipeline, and without `restate` for a part of time next to
    results of other settings.
    """
    pipeline = tables.pipeline
    _require(pipeline, interval, arrived_to)
    runs = tables.runs()
    published = in_order(runs)
    standing = effective_runs(published)
    latest = standing.latest
    if not interval.whole:
        _require_kind(standing, pipeline)
        if not restate:
            _require_likeness(standing, pipeline)
    kind = _kind(interval, arrived_to, repair=repair)
    if arrived_to is not None:
        if latest is not None and covers(latest, pipeline, arrived_to):
            return Plan(latest, tables_of(pipeline))
    elif not interval.whole and latest is not None:
        arrived_to = latest.arrived_to
    versions = tables.checked_versions()
    ids = tables.table_ids(versions)
    if not interval.whole and not restate:
        source_changes.require_same_tables(pipeline, standing.base, ids)
    goes_on, note = None, _replaced_settings(latest, pipeline) if kind == FULL else ""
    if arrived_to is not None and interval.whole:
        goes_on, note = _going_on(tables, published, versions, ids)
    elif kind in PARTS and standing.latest is not None:
        tables.require_types(standing.latest, versions)
        note = source_changes.note(tables, standing.base, versions)
    if goes_on is not None:
        interval = Interval(EPOCH + timedelta(milliseconds=goes_on.oldest_ms), None)
    run_id = _run_id(pipeline, versions, ids, interval, arrived_to, latest if kind == ARRIVALS else None, kind)
    run_id, recorded = _not_replaced(run_id, runs, published, standing)
    run = recorded or Run(
        run_id=run_id,
        pipeline=pipeline.name,
        fingerprint=pipeline.fingerprint,
        kind=kind,
        source_version=next(iter(versions.values())),
        interval_start=interval.start,
        interval_end=interval.end,
        source_versions=versions if pipeline.sources else {},
        arrived_from=None if goes_on is None else EPOCH + timedelta(microseconds=goes_on.covered_us),
        arrived_to=arrived_to,
        source_ids=ids,
        settings=of_results(pipeline),
    )
    return Plan(run, tables_of(pipeline), note)


def _replaced_settings(latest: Run | None, pipeline: Pipeline) -> str:
    """Return the settings of the published results that the pipeline changes, in words; empty without any."""
    if latest is None or latest.fingerprint in pipeline.same_results:
        return ""
    return f"replaces results of other settings ({differences(latest.settings, latest.fingerprint, pipeline)})"


def _kind(interval: Interval, arrived_to: datetime | None, *, repair: bool) -> str:
    if not interval.whole:
        return REPAIR if repair else BACKFILL
    return FULL if arrived_to is None else ARRIVALS


def _require(pipeline: Pipeline, interval: Interval, arrived_to: datetime | None) -> None:
    """Raise InputError for a run that cannot be replayed with any source."""
    require_windows(interval, pipeline)
    if pipeline.join is None:
        try:
            require_support(pipeline)
        except UnsupportedPipelineError as problem:
            raise InputError(str(problem), code=problem.code) from problem
        except GeneratorError as problem:
            raise InputError(f"watermark.class: {problem}", code=ErrorCode.GENERATOR_FAILED) from problem
    if arrived_to is None:
        return
    require_slices(pipeline, arrived_to)
    if not interval.whole:
        raise InputError(
            "--arrived-to: cannot be combined with --from or --to. Give either", code=ErrorCode.ARRIVED_TO_REFUSED
        )


def _require_kind(standing: EffectiveRuns, pipeline: Pipeline) -> None:
    """Raise InputError if the published results are of a join and the pipeline's of windows, or the reverse."""
    whole = standing.base
    if whole is not None and ("pairs" in whole.versions) != (pipeline.join is not None):
        kind, other = ("windows", "a join") if pipeline.join is None else ("a join", "windows")
        raise InputError(
            f"--from and --to: the published results (run {whole.run_id}) are those of {other}, "
            f"the pipeline defines {kind}. Run once without --from and --to",
            code=ErrorCode.OTHER_RESULTS_PUBLISHED,
        )


def _require_likeness(standing: EffectiveRuns, pipeline: Pipeline) -> None:
    whole = standing.base
    # Complete results do not change the other results: a part of time may have them or not.
    if whole is not None and whole.fingerprint not in pipeline.same_results:
        raise InputError(
            f"--from and --to: run {whole.run_id} has published results of other settings "
            f"({differences(whole.settings, whole.fingerprint, pipeline)}). Run without --from and --to, or give "
            "--restate to have both side by side",
            code=ErrorCode.OTHER_RESULTS_PUBLISHED,
        )


def _going_on(
    tables: PlanTables, published: Sequence[Run], versions: Mapping[str, int], ids: Mapping[str, str]
) -> tuple[Resumption | None, str]:
    """Return the state from which a run over later arrivals resumes, or None and the obstacle, if there is one."""
    pipeline, standing = tables.pipeline, effective_runs(published)
    latest, whole = standing.latest, standing.base
    if latest is None or whole is None or latest.arrived_to is None or not can_resume(pipeline):
        return None, ""
    if pipeline.is_complete:
        return None, f"{_ANEW}: replay.mode complete needs all rows of closed windows"
    if other := _other_results(latest, pipeline):
        return None, f"{_ANEW}: the published results {other}"
    if anew := source_changes.made_anew(pipeline, latest, ids):
        return None, f"{_ANEW}: {', '.join(anew)} was deleted and made anew"
    # A part of time may have been replayed on a later version than the rest.
    changed = tables.rewritten(whole.source_version, versions[""], latest.arrived_to)
    if changed is not None:
        return None, f"{_ANEW}: {pipeline.source.table}: {changed}"
    covered_us = (latest.arrived_to - EPOCH) // timedelta(microseconds=1)
    return tables.resumption(published[-1], covered_us), ""


def _other_results(latest: Run, pipeline: Pipeline) -> str | None:
    """Return why the pipeline does not continue the published results, in words."""
    if latest.fingerprint != pipeline.fingerprint:
        return f"are of other settings ({differences(latest.settings, latest.fingerprint, pipeline)})"
    return None if "advances" in latest.versions else "lack the emissions to continue from"


def covers(run: Run, pipeline: Pipeline, arrived_to: datetime) -> bool:
    """Return whether `run` has published all results of the pipeline until `arrived_to`."""
    includes = run.arrived_to is not None and run.arrived_to >= arrived_to
    return includes and run.fingerprint == pipeline.fingerprint


def _run_id(
    pipeline: Pipeline,
    versions: Mapping[str, int],
    ids: Mapping[str, str],
    interval: Interval,
    arrived_to: datetime | None,
    latest: Run | None,
    kind: str,
) -> str:
    tables = (pipeline.source.table, *versions.values(), *ids.values())
    inputs = [pipeline.fingerprint, *tables, str(interval.start), str(interval.end)]
    if arrived_to is not None:
        inputs.append(f"arrived before {arrived_to}, on {latest.run_id if latest else 'nothing'}")
    if kind == REPAIR:
        inputs.append("with rows that came too late")
    return _hashed("\n".join(map(str, inputs)))


def _not_replaced(
    run_id: str, runs: Sequence[Run], published: Sequence[Run], standing: EffectiveRuns
) -> tuple[str, Run | None]:
    """Return `run_id`, or an id after it whose results no other run has replaced, and its run in the ledger."""
    by_id = {run.run_id: run for run in runs}
    recorded = by_id.get(run_id)
    while recorded is not None and (since := _gone_since(recorded, published, standing)) is not None:
        # No run id is published twice.
        run_id = _hashed(f"{run_id}\nagain after {since}")
        recorded = by_id.get(run_id)
    return run_id, recorded


def _gone_since(run: Run, published: Sequence[Run], standing: EffectiveRuns) -> str | None:
    """Return the run or moment since which a published run's results are replaced; None if they are in force."""
    names = [earlier.run_id for earlier in published]
    if run.run_id not in names or (not run.discarded and standing.contains(run)):
        return None
    return f"{run.steps[-1].finished_at}" if run.discarded else names[names.index(run.run_id) + 1]


def _hashed(inputs: str) -> str:
    return "r" + hashlib.sha256(inputs.encode()).hexdigest()[:15]
