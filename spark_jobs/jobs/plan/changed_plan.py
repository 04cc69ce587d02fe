"""The plan of a run over changes: from which published run it begins, and why it may not.

The run lies on the run that was published last. Its windows are those that changes of the source affect
(`changed_windows`), and those of parts of time whose results are of other inputs. So all published results are then
those of one version of the source.
"""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.jobs.plan import source_changes
from spark_jobs.jobs.plan.changed_windows import COUNTS, NOTHING, in_words
from spark_jobs.jobs.plan.plan_request import UNCHANGED, Plan, PlanRequest
from spark_jobs.pipeline.model import Order
from spark_jobs.pipeline.settings import differences
from spark_jobs.replay.continuation import affected_windows
from spark_jobs.tables.changed_files import UnknownChangesError
from spark_jobs.tables.run import CHANGED, REPAIR, Run


class ReadAnewError(Exception):
    """A run over changes is impossible, and everything has to be read; the message is the reason."""


def of_changes(request: PlanRequest) -> Plan:
    """Return the plan of a run over changes, or of the published run if nothing has changed.

    Raises ReadAnewError if everything has to be read.
    """
    standing, published = request.standing, request.published
    base, latest = standing.base, standing.latest
    if base is None or latest is None:
        raise ReadAnewError("nothing is published yet")
    _require_base(request, base, latest)
    other_parts = [part for part in standing.partial if not _is_of(part, request)]
    is_same = base.pinned == request.versions and base.arrived_to == request.arrived_to
    if is_same and all(_is_repair(part, request) for part in other_parts):
        return request.plan(latest, UNCHANGED)
    run = request.run(CHANGED, NOTHING, published[-1], changes_run=published[-1].run_id)
    if run.steps:
        return request.plan(run, in_words(run.counts), {name: run.counts[name] for name in COUNTS})
    try:
        windows = request.tables.changed_windows(base, run, [part.interval for part in other_parts])
    except UnknownChangesError as problem:
        raise ReadAnewError(str(problem)) from problem
    is_unchanged = not windows.counts["changed_rows"] and base.arrived_to == request.arrived_to
    if is_unchanged and all(_stays(part, base, run, request) for part in other_parts):
        return request.plan(latest, windows.in_words())
    interval = windows.interval
    run = replace(run, interval_start=interval.start, interval_end=interval.end, stretches=interval.stretches)
    return request.plan(run, windows.in_words(), windows.counts)


def _require_base(request: PlanRequest, base: Run, latest: Run) -> None:
    """Raise ReadAnewError if a run over changes cannot begin from the published results."""
    pipeline, arrived_to = request.pipeline, request.arrived_to
    if unsupported := affected_windows.obstacle(pipeline):
        raise ReadAnewError(f"changes cannot be computed alone for {unsupported}")
    for run in (base, latest):
        if run.fingerprint != pipeline.fingerprint:
            settings = differences(run.settings, run.fingerprint, pipeline)
            raise ReadAnewError(f"the published results are of other settings ({settings})")
    anew = source_changes.made_anew(pipeline, base, request.ids)
    is_divided = bool(pipeline.sources) or pipeline.replay.order is not Order.ARRIVAL
    obstacles = {
        f"{', '.join(anew)} was deleted and made anew": bool(anew),
        "the published results are of other sources": base.pinned.keys() != request.versions.keys(),
        "the published results are of other arrivals": (base.arrived_to is None) != (arrived_to is None),
        "later arrivals are read for one source in order of arrival alone": is_divided
        and base.arrived_to != arrived_to,
    }
    for reason, applies in obstacles.items():
        if applies:
            raise ReadAnewError(reason)


def _stays(part: Run, base: Run, run: Run, request: PlanRequest) -> bool:
    """Return whether a part is a repair of the rows that `run` reads, which are those of `base`.

    Repaired windows stay so until their source changes.
    """
    if not _is_repair(part, request):
        return False
    try:
        return part.pinned in (base.pinned, run.pinned) or not request.tables.count_changed_rows(part, run)
    except UnknownChangesError:
        return False


def _is_repair(part: Run, request: PlanRequest) -> bool:
    return part.kind == REPAIR and part.fingerprint == request.pipeline.fingerprint


def _is_of(part: Run, request: PlanRequest) -> bool:
    """Return whether a part of time has the results that a run over all of time would have now."""
    inputs = (part.fingerprint, part.pinned, part.arrived_to)
    return part.kind != REPAIR and inputs == (request.pipeline.fingerprint, request.versions, request.arrived_to)
