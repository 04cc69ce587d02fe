"""DAGs made from pipeline files.

    a pipeline         [land ->] plan -> [watermarks -> slice, slice, ... ->]                `slices` of the schedule
                       replay -> audit -> [approve ->] publish -> report
                                 audit -> report_if_blocked                                  skipped unless checks block
    its repair         look -> [approve ->] repair                                           if the file has `repair`
    backfill           check -> plan -> watermarks -> slice, slice, ... ->                   any pipeline, by a form
                       replay -> audit -> approve -> publish -> report
                 check -> intervals                                                        a run for each interval
    accept             plan -> publish -> report                                             a blocked run, by a form

A task is one step of a run and can be repeated: it finds what an earlier attempt did. One run at a time.

- A backfill by hand may wait for a person before it publishes, or show its plan and stop.
- A scheduled run of a pipeline with `end_of_input: keep_open` reads what arrived by the end of its data interval. It
  goes on where the run before it ended. For any other pipeline it reads all that has arrived.
- With `catchup` each interval since the schedule's `start` has its run, in order; without it the newest has one.
- A pipeline that is scheduled by assets runs when they were updated, and reads what has arrived by then.
- What is published is an asset itself (`assets`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, TriggerRule, chain, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException

from spark_jobs.pipeline import EndOfInput, OnFailure, Order, Pipeline, Schedule
from spark_jobs.pipeline.description import describe
from spark_jobs.pipeline.environment import hide_values
from tidemark_airflow.dags import accept_form
from tidemark_airflow.dags.alerts import Alert, of_checks
from tidemark_airflow.dags.backfill_form import FormError, form, request_of
from tidemark_airflow.dags.common_arguments import BY_HAND, TAGS, common_arguments
from tidemark_airflow.dags.interval_tasks import interval_tasks
from tidemark_airflow.jobs.assets import results_of
from tidemark_airflow.jobs.links import dag_id, repair_dag_id
from tidemark_airflow.jobs.pipeline_files import ACCEPT, BACKFILL, read_folder
from tidemark_airflow.jobs.pool import pool
from tidemark_airflow.jobs.request import Request
from tidemark_airflow.jobs.task_ids import AUDIT, CHECK, PLAN, REPLAY, REPORT, SLICE
from tidemark_airflow.tasks.approval import ApproveOperator, ApproveRepairOperator
from tidemark_airflow.tasks.repair import LookOperator, RepairOperator
from tidemark_airflow.tasks.run_steps import (
    BlockedReportOperator,
    LandOperator,
    PlanOperator,
    PublishOperator,
    SliceOperator,
    StepOperator,
    WatermarksOperator,
)

# A template, rendered for each DAG run; a run that is started by hand may have no data interval.
_INTERVAL_END = "{{ data_interval_end.isoformat() if data_interval_end is defined and data_interval_end else '' }}"
# A run that an asset has started has no data interval; arrival times are in whole milliseconds.
_TRIGGERED = "{{ dag_run.run_after.isoformat(timespec='milliseconds') }}"
_BACKFILL_DOC = """
Recomputes the windows of the chosen pipeline that begin in [from, to), and replaces each as a whole. Use *Trigger*:
Airflow's own tab *Backfill* repeats scheduled runs, and this DAG has none.

| task | |
|---|---|
| check | refuses a form that cannot be fulfilled, with everything that is wrong with it |
| plan | shows what would be read and replaced; a dry run ends here |
| watermarks, slice | with *Slices apart*: computes what all slices need, then stages each slice in a task |
| replay | computes what is missing; its log shows how much is done, and about how long the rest will take |
| audit | checks what was computed |
| approve | waits for a person under *Required Actions*, if the form or, for failed checks, the file has it so |
| publish | lets readers see the new results, all at once |
| report | writes the report of the run, and links to it |
| report_if_blocked | skipped, unless checks have blocked the run: then it writes the report, and nothing is published |
| intervals | with *Length of an interval*: a run for each interval; the tasks above are then skipped |

| task of the group intervals | |
|---|---|
| cut | lists the intervals, without those that are published if so requested |
| choose | chooses one of the next tasks by *Side by side* |
| one_at_a_time, two_at_a_time, ... | one task for each interval: all steps of its run |
| approve | asks a person once, about all intervals |
| publish | publishes intervals after a yes |
| summary | lists how each interval ended; fails if one has failed |
"""
_PIPELINE_DOC = """
| task | |
|---|---|
| plan | finds out what is new, and what the run replaces |
| replay | computes the windows |
| audit | checks what was computed; failed checks stop the run here, unless the file has it otherwise |
| publish | lets readers see the new results, all at once |
| report | writes the report, and links to it |
| report_if_blocked | skipped in a good run; writes the report of a run that its checks have blocked |

One Spark works for several tasks: that of *replay* goes on with the tasks behind it, up to a question to a person.

*Data quality* has all runs of this pipeline.
"""


def pipeline_dags(
    folder: Path, landing: Mapping[str, str] | None = None, alerts: Sequence[Alert] = ()
) -> dict[str, DAG]:
    """Return a DAG for every good pipeline file of a folder, and one for its repairs if it has some, by DAG id.

    `landing` names the script in spark_jobs/jobs that brings a pipeline's source table, by the pipeline's name.
    """
    pipelines = read_folder(folder).good.values()
    landed = landing or {}
    dags = [pipeline_dag(pipeline, landing=landed.get(pipeline.name), alerts=alerts) for pipeline in pipelines]
    dags += [repair_dag(pipeline, alerts=alerts) for pipeline in pipelines if pipeline.repair is not None]
    return {dag.dag_id: dag for dag in dags}


def pipeline_dag(
    pipeline: Pipeline, *, landing: str | None = None, application: str = "", alerts: Sequence[Alert] = ()
) -> DAG:
    """Return the DAG of a pipeline, on the schedule of its file; without a schedule it is started by hand."""
    schedule = pipeline.schedule or BY_HAND
    with DAG(
        dag_id(pipeline.name),
        description=hide_values(describe(pipeline)),
        schedule=_runs(schedule),
        # Without a schedule a new DAG starts no run.
        is_paused_upon_creation=None if pipeline.schedule else False,
        **common_arguments(_doc(pipeline), alerts, schedule, tags=(*TAGS, "pipeline")),
    ) as dag:
        may_ask = pipeline.quality.on_failure is OnFailure.ASK
        first = _steps(_request(pipeline), application, may_ask=may_ask, apart=schedule.slices > 1, alerts=alerts)
        if landing:
            LandOperator(script=landing) >> first
    return dag


def repair_dag(pipeline: Pipeline, *, application: str = "", alerts: Sequence[Alert] = ()) -> DAG:
    """Return the DAG that repairs windows; each publishing of the pipeline starts it."""
    if pipeline.repair is None or pipeline.path is None:
        raise ValueError(f"{pipeline.name}: no DAG of repairs without a pipeline file that has `repair`")
    with DAG(
        repair_dag_id(pipeline.name),
        description=f"Recompute windows of {pipeline.name} that missed too many rows",
        schedule=[results_of(pipeline.name)],
        **common_arguments(
            f"{describe(pipeline)}.\n\nBy `repair` in `{pipeline.path}`.", alerts, tags=(*TAGS, "repair")
        ),
    ) as dag:
        look, repair = (
            kind(pipeline_file=pipeline.path, application=application) for kind in (LookOperator, RepairOperator)
        )
        chain(look, *([ApproveRepairOperator()] if pipeline.repair.ask else []), repair)
    return dag


def _runs(schedule: Schedule) -> Any:
    if schedule.assets:
        return [Asset(asset) for asset in schedule.assets]
    return CronDataIntervalTimetable(schedule.cron, timezone="UTC") if schedule.cron else None


def _request(pipeline: Pipeline) -> Request:
    request, schedule = Request(pipeline_file=str(pipeline.path)), pipeline.schedule or BY_HAND
    by_arrival = pipeline.replay.order in {Order.ARRIVAL, Order.COMMIT}
    if pipeline.schedule and by_arrival and pipeline.replay.end_of_input is EndOfInput.KEEP_OPEN:
        request["arrived_to"] = _TRIGGERED if schedule.assets else _INTERVAL_END
    elif pipeline.schedule:
        request["changed"] = True
    if schedule.slices > 1:
        request |= {"slices": schedule.slices, "apart": True}
    return request


def backfill_dag(folder: Path, *, application: str = "", alerts: Sequence[Alert] = ()) -> DAG | None:
    """Return the DAG with a form that recomputes windows of any good pipeline file; None without such a file."""
    pipelines = read_folder(folder).good
    if not pipelines:
        return None
    with DAG(
        dag_id(BACKFILL),
        description="Recompute windows of a pipeline, with other settings if needed",
        schedule=None,
        is_paused_upon_creation=False,
        params=form(pipelines),
        **common_arguments(_BACKFILL_DOC, alerts, tags=(*TAGS, "by hand")),
    ) as dag:

        @task(task_id=CHECK, retries=0)
        def check() -> dict[str, Any]:
            """Refuse a form that cannot be fulfilled."""
            try:
                return dict(request_of(get_current_context()["params"], read_folder(folder).good))
            except FormError as error:
                raise AirflowFailException(str(error)) from None

        request = check()
        _steps(request, application, may_ask=True, apart=True, alerts=alerts)
        interval_tasks(request, application)
    return dag


def accept_dag(folder: Path, *, application: str = "", alerts: Sequence[Alert] = ()) -> DAG | None:
    """Return the DAG with a form that publishes a blocked run; None without a good pipeline file."""
    pipelines = read_folder(folder).good
    if not pipelines:
        return None
    with DAG(
        dag_id(ACCEPT),
        description="Publish a run although its checks have blocked it, without computing it again",
        schedule=None,
        is_paused_upon_creation=False,
        params=accept_form.form(pipelines),
        **common_arguments(
            "Nothing is computed. What the run has staged is published as it is, and the ledger keeps the reason.",
            alerts,
            tags=(*TAGS, "by hand"),
        ),
    ) as dag:

        @task(task_id=PLAN, retries=0)
        def plan() -> dict[str, Any]:
            """Refuse a form that cannot be fulfilled."""
            context = get_current_context()
            user = getattr(context["dag_run"], "triggering_user_name", None) or "somebody in Airflow"
            try:
                return accept_form.plan_of(context["params"], read_folder(folder).good, user)
            except FormError as error:
                raise AirflowFailException(str(error)) from None

        chain(plan(), PublishOperator(application=application), StepOperator(step=REPORT, application=application))
    return dag


def _steps(
    request: Any, application: str, *, may_ask: bool = False, apart: bool = False, alerts: Sequence[Alert] = ()
) -> PlanOperator:
    plan = PlanOperator(request=request, application=application)
    slices = _slices(application) if apart else []
    # The tasks of slices are skipped for a run in one piece.
    rule = TriggerRule.NONE_FAILED if apart else TriggerRule.ALL_SUCCESS
    replay = StepOperator(step=REPLAY, application=application, trigger_rule=rule)
    audit = StepOperator(step=AUDIT, application=application, **of_checks(alerts))
    approve = [ApproveOperator()] if may_ask else []
    report = StepOperator(step=REPORT, application=application)
    chain(plan, *slices, replay, audit, *approve, PublishOperator(application=application), report)
    audit >> BlockedReportOperator(application=application)
    return plan


def _slices(application: str) -> list[Any]:
    """Return the task that cuts a run, and one for each slice that it returns."""
    cut = WatermarksOperator(application=application)
    named = SliceOperator.partial(
        task_id=SLICE, application=application, pool=pool(), map_index_template="{{ task.part }}"
    )
    return [cut, named.expand(part=cut.output)]


def _doc(pipeline: Pipeline) -> str:
    """Return the page of a pipeline's DAG: the pipeline in one line, its source and file, and its tasks."""
    tables = [united.source.table for united in pipeline.sources] or [pipeline.source.table]
    sources = ", ".join(f"`{table}`" for table in tables)
    return hide_values(f"{describe(pipeline)}.\n\nReads {sources}. Made from `{pipeline.path}`.\n{_PIPELINE_DOC}")


def _doc_of_repair(pipeline: Pipeline) -> str:
    return f"{describe(pipeline)}.\n\nBy `repair` in `{pipeline.path}`."
