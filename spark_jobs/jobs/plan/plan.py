"""The plan of a run: which version of the source, and which windows; `plan_request` has its id."""

from __future__ import annotations

from datetime import datetime, timedelta

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import Option
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import source_changes
from spark_jobs.jobs.plan.arrival_slices import require_slices
from spark_jobs.jobs.plan.changed_plan import ReadAnewError, of_changes
from spark_jobs.jobs.plan.plan_request import ANEW, Plan, PlanRequest
from spark_jobs.jobs.plan.plan_tables import PlanTables
from spark_jobs.jobs.plan.requested_windows import require_windows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.settings import differences
from spark_jobs.replay.continuation.resume import Resumption, can_resume
from spark_jobs.replay.supported import UnsupportedPipelineError, require_support
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.semantics.watermark.custom import GeneratorError
from spark_jobs.tables.effective_runs import EffectiveRuns, effective_runs
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.run import ARRIVALS, BACKFILL, FULL, REPAIR, Run, in_order
from spark_jobs.tables.source_tables import tables_of


def plan(
    tables: PlanTables,
    interval: Interval,
    arrived_to: datetime | None = None,
    *,
    restate: bool = False,
    repair: bool = False,
    changed: bool = False,
) -> Plan:
    """Plan a run over the source's newest version, with `arrived_to` over the rows that arrived before it.

    A part of time is replayed with the same arrivals as the published results. A `repair` accepts all late rows of its
    windows. For arrivals that a published run covers, the plan is that run.

    With `changed`, the run computes only windows that changes of the source since the published results affect. So does
    a run over later arrivals by itself, if rows that it would not read again were changed. Without a change the plan is
    the published run. Where this is impossible, the run reads everything, and the note is the reason.

    Raises InputError for a source that does not fit the pipeline, and without `restate` for a part of time next to
    results of other settings.
    """
    pipeline = tables.pipeline
    _require(pipeline, interval, arrived_to, changed=changed)
    runs = tables.runs()
    published = in_order(runs)
    standing = effective_runs(published)
    latest = standing.latest
    if not interval.whole:
        _require_kind(standing, pipeline)
        if not restate:
            _require_likeness(standing, pipeline)
        if latest is not None:
            arrived_to = latest.arrived_to
    elif latest is not None and changed:
        arrived_to = _later(arrived_to, latest.arrived_to)
    elif latest is not None and arrived_to is not None and covers(latest, pipeline, arrived_to):
        return Plan(latest, tables_of(pipeline))
    versions = tables.checked_versions()
    ids = tables.table_ids(versions)
    request = PlanRequest(tables, runs, published, standing, versions, ids, arrived_to)
    if not interval.whole:
        if not restate:
            source_changes.require_same_tables(pipeline, standing.base, ids)
        return _of_part(request, interval, REPAIR if repair else BACKFILL)
    return _of_all_time(request, changed=changed)


def _of_part(request: PlanRequest, interval: Interval, kind: str) -> Plan:
    """Plan a run over a part of time."""
    note, latest = "", request.standing.latest
    if latest is not None:
        request.tables.require_types(latest, request.versions)
        note = source_changes.note(request.tables, request.standing.base, request.versions)
    return request.plan(request.run(kind, interval), note)


def _of_all_time(request: PlanRequest, *, changed: bool) -> Plan:
    """Plan a run over all of time, over later arrivals, or over changes."""
    latest, note, is_rewritten = request.standing.latest, "", False
    goes_on: Resumption | None = None
    if request.arrived_to is not None:
        goes_on, note, is_rewritten = _going_on(request)
    # New rows without an arrival time belong to any arrivals.
    has_later = goes_on is not None and latest is not None and latest.arrived_to != request.arrived_to
    if latest is not None and (is_rewritten or (changed and not has_later)):
        try:
            return of_changes(request)
        except ReadAnewError as reason:
            if goes_on is None:
                note = f"{note}; {reason}" if is_rewritten else note or f"{ANEW}: {reason}"
    if request.arrived_to is None:
        note = _replaced_settings(latest, request.pipeline) or note
        return request.plan(request.run(FULL, Interval()), note)
    interval, arrived_from = Interval(), None
    if goes_on is not None:
        interval = Interval(EPOCH + timedelta(milliseconds=goes_on.oldest_ms), None)
        arrived_from = EPOCH + timedelta(microseconds=goes_on.covered_us)
    # So that these arrivals do not count as published already.
    changes_run = request.published[-1].run_id if changed and request.published else None
    run = request.run(ARRIVALS, interval, latest, arrived_from=arrived_from, changes_run=changes_run)
    return request.plan(run, note)


def _later(first: datetime | None, second: datetime | None) -> datetime | None:
    """Return the later of two ends of arrivals; None is the end of all arrivals."""
    return None if first is None and second is None else max(each for each in (first, second) if each is not None)


def _replaced_settings(latest: Run | None, pipeline: Pipeline) -> str:
    """Return the settings of the published results that the pipeline changes, in words; empty without any."""
    if latest is None or latest.fingerprint in pipeline.same_results:
        return ""
    return f"replaces results of other settings ({differences(latest.settings, latest.fingerprint, pipeline)})"


def _require(pipeline: Pipeline, interval: Interval, arrived_to: datetime | None, *, changed: bool) -> None:
    """Raise InputError for a run that cannot be replayed with any source."""
    if changed and not interval.whole:
        raise InputError(
            f"{Option.CHANGED}: cannot be combined with {Option.FROM} or {Option.TO}: the changes decide which windows "
            "are computed. Give either",
            code=ErrorCode.CHANGED_REFUSED,
        )
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


def _going_on(request: PlanRequest) -> tuple[Resumption | None, str, bool]:
    """Return the state from which a run over later arrivals resumes, or None and the obstacle, if there is one.

    The last value is whether the obstacle is a change of rows that the run would not read again.
    """
    tables, pipeline = request.tables, request.pipeline
    latest, whole = request.standing.latest, request.standing.base
    if latest is None or whole is None or latest.arrived_to is None or not can_resume(pipeline):
        return None, "", False
    if pipeline.is_complete:
        return None, f"{ANEW}: replay.mode complete needs all rows of closed windows", False
    if other := _other_results(latest, pipeline):
        return None, f"{ANEW}: the published results {other}", False
    if anew := source_changes.made_anew(pipeline, latest, request.ids):
        return None, f"{ANEW}: {', '.join(anew)} was deleted and made anew", False
    # A part of time may have been replayed on a later version than the rest.
    rewritten = tables.rewritten(whole.source_version, request.versions[""], latest.arrived_to)
    if rewritten is not None:
        return None, f"{ANEW}: {pipeline.source.table}: {rewritten}", True
    covered_us = (latest.arrived_to - EPOCH) // timedelta(microseconds=1)
    return tables.resumption(request.published[-1], covered_us), "", False


def _other_results(latest: Run, pipeline: Pipeline) -> str | None:
    """Return why the pipeline does not continue the published results, in words."""
    if latest.fingerprint != pipeline.fingerprint:
        return f"are of other settings ({_differing(latest, pipeline)})"
    return None if "advances" in latest.versions else "lack the emissions to continue from"


def _differing(run: Run, pipeline: Pipeline) -> str:
    return differences(run.settings, run.fingerprint, pipeline)


def covers(run: Run, pipeline: Pipeline, arrived_to: datetime) -> bool:
    """Return whether `run` has published all results of the pipeline until `arrived_to`."""
    includes = run.arrived_to is not None and run.arrived_to >= arrived_to
    return includes and run.fingerprint == pipeline.fingerprint
