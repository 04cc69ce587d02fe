"""DAGs made from pipeline files.

    a pipeline         [land ->] plan -> [watermarks -> slice, slice, ... ->]                `slices` of the schedule
                       replay -> audit -> [approve ->] publish -> report
                                 audit -> explain                                            where checks have failed
    its repair         look -> [approve ->] repair                                           where the file has `repair`
    backfill           check -> plan -> watermarks -> slice, slice, ... ->                   of any pipeline, by a form
                       replay -> audit -> approve -> publish -> report
    accept             plan -> publish -> report                                             of a run that was blocked

A task is one step of a run and can be repeated: it finds what an earlier attempt did. One run at a time. A backfill by
hand may ask a person before it publishes, or show its plan and stop. A scheduled run of a pipeline with
`end_of_input: keep_open` answers for what arrived by the end of its data interval, and goes on where the run before it
has ended; of any other pipeline it answers for all that has arrived. With `catchup` each interval since the schedule's
`start` has its run, in order; without it the newest has one. A pipeline that is scheduled by assets runs when they have
been updated, and answers for what has arrived by then. What is published is an asset itself (`assets`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, TriggerRule, chain, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException

from spark_jobs.pipeline import EndOfInput, OnFailure, Order, Pipeline, Schedule
from tidemark_airflow.dags import accept_form
from tidemark_airflow.dags.alerts import Alert, of_checks, of_failures
from tidemark_airflow.dags.backfill_form import FormError, form, request_of
from tidemark_airflow.jobs.assets import results_of
from tidemark_airflow.jobs.links import dag_id, repair_dag_id
from tidemark_airflow.jobs.pipeline_files import ACCEPT, BACKFILL, read_folder
from tidemark_airflow.tasks.approval import ApproveOperator, ApproveRepairOperator
from tidemark_airflow.tasks.repair import LookOperator, RepairOperator
from tidemark_airflow.tasks.spark_job import (
    PLAN,
    SLICE,
    ExplainOperator,
    LandOperator,
    PlanOperator,
    PublishOperator,
    Request,
    SliceOperator,
    StepOperator,
    WatermarksOperator,
    pool,
)

_TASKS = {"retries": 1, "retry_delay": timedelta(seconds=30)}
# Filled in for each DAG run; one that is started by hand may have no data interval.
_INTERVAL_END = "{{ data_interval_end.isoformat() if data_interval_end is defined and data_interval_end else '' }}"
# A run that an asset has started has no data interval; its arrivals are counted in whole milliseconds.
_TRIGGERED = "{{ dag_run.run_after.isoformat(timespec='milliseconds') }}"
_BACKFILL_DOC = """
Windows of the chosen pipeline that begin in [from, to) are computed again and replaced as a whole.

| task | |
|---|---|
| check | refuses a form that cannot be fulfilled, and says all that is wrong with it |
| plan | tells what would be read and replaced; a dry run ends here |
| watermarks, slice | where slices are wanted apart: what all of them stand on, and a task for each |
| replay | computes what is not there yet; its log tells how much is done, and about how long the rest will take |
| audit | checks what was computed |
| approve | asks a person under *Required Actions*, if the form or, of failed checks, the file says `ask` |
| publish | lets readers see the new results, all at once |
| report | links to the report of the run |
| explain | links to the report of a run that its checks have blocked; nothing of it is published |
"""
_SINCE = datetime(2024, 1, 1, tzinfo=UTC)
_BY_HAND = Schedule()


def pipeline_dags(
    folder: Path, landing: Mapping[str, str] | None = None, alerts: Sequence[Alert] = ()
) -> dict[str, DAG]:
    """A DAG for every good pipeline file of a folder, and one for its repairs if it has some, by DAG id.

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
    """The DAG of a pipeline, on the schedule of its file, or started by hand where it has none."""
    schedule = pipeline.schedule or _BY_HAND
    with DAG(
        dag_id(pipeline.name),
        description=f"Replay {pipeline.source.table}",
        schedule=_runs(schedule),
        # Without a schedule there is nothing that a new DAG could start by itself.
        is_paused_upon_creation=None if pipeline.schedule else False,
        **_common(f"Made from `{pipeline.path}`.", alerts, schedule),
    ) as dag:
        asks = pipeline.quality.on_failure is OnFailure.ASK
        first = _steps(_request(pipeline), application, asks=asks, apart=schedule.slices > 1, alerts=alerts)
        if landing:
            LandOperator(script=landing) >> first
    return dag


def repair_dag(pipeline: Pipeline, *, application: str = "", alerts: Sequence[Alert] = ()) -> DAG:
    """The DAG that looks, whenever the pipeline has published something, which of its windows are to be repaired."""
    if pipeline.repair is None or pipeline.path is None:
        raise ValueError(f"{pipeline.name}: asked for a DAG of repairs, found no repair, or no file")
    with DAG(
        repair_dag_id(pipeline.name),
        description=f"Compute windows of {pipeline.name} again that missed too many rows",
        schedule=[results_of(pipeline.name)],
        **_common(f"By `repair` in `{pipeline.path}`.", alerts),
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
    request, schedule = Request(pipeline_file=str(pipeline.path)), pipeline.schedule or _BY_HAND
    by_arrival = pipeline.replay.order in {Order.ARRIVAL, Order.COMMIT}
    if pipeline.schedule and by_arrival and pipeline.replay.end_of_input is EndOfInput.KEEP_OPEN:
        request["arrived_to"] = _TRIGGERED if schedule.assets else _INTERVAL_END
    if schedule.slices > 1:
        request |= {"slices": schedule.slices, "apart": True}
    return request


def backfill_dag(folder: Path, *, application: str = "", alerts: Sequence[Alert] = ()) -> DAG | None:
    """The DAG with a form that computes windows of any good pipeline file again; None where there is none."""
    pipelines = read_folder(folder).good
    if not pipelines:
        return None
    with DAG(
        dag_id(BACKFILL),
        description="Compute windows of a pipeline again, with other settings if need be",
        schedule=None,
        is_paused_upon_creation=False,
        params=form(pipelines),
        **_common(_BACKFILL_DOC, alerts),
    ) as dag:

        @task(task_id="check", retries=0)
        def check() -> dict[str, Any]:
            """Refuse a form that cannot be fulfilled."""
            try:
                return dict(request_of(get_current_context()["params"], read_folder(folder).good))
            except FormError as error:
                raise AirflowFailException(str(error)) from None

        _steps(check(), application, asks=True, apart=True, alerts=alerts)
    return dag


def accept_dag(folder: Path, *, application: str = "", alerts: Sequence[Alert] = ()) -> DAG | None:
    """The DAG with a form that publishes a run which its checks have blocked; None where there is no pipeline."""
    pipelines = read_folder(folder).good
    if not pipelines:
        return None
    with DAG(
        dag_id(ACCEPT),
        description="Publish a run that its checks have blocked, without computing it again",
        schedule=None,
        is_paused_upon_creation=False,
        params=accept_form.form(pipelines),
        **_common(
            "Nothing is computed: what the run has staged is published as it is, and the reason is kept.", alerts
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

        chain(plan(), PublishOperator(application=application), StepOperator(step="report", application=application))
    return dag


def _steps(
    request: Any, application: str, *, asks: bool = False, apart: bool = False, alerts: Sequence[Alert] = ()
) -> PlanOperator:
    plan = PlanOperator(request=request, application=application)
    slices = _slices(application) if apart else []
    # Tasks of slices are skipped where these are not wanted.
    rule = TriggerRule.NONE_FAILED if apart else TriggerRule.ALL_SUCCESS
    replay = StepOperator(step="replay", application=application, trigger_rule=rule)
    audit = StepOperator(step="audit", application=application, **of_checks(alerts))
    approve = [ApproveOperator()] if asks else []
    report = StepOperator(step="report", application=application)
    chain(plan, *slices, replay, audit, *approve, PublishOperator(application=application), report)
    audit >> ExplainOperator(application=application)
    return plan


def _slices(application: str) -> list[Any]:
    """The task that cuts a run, and one for each slice that it gives."""
    cut = WatermarksOperator(application=application)
    named = SliceOperator.partial(
        task_id=SLICE, application=application, pool=pool(), map_index_template="{{ task.part }}"
    )
    return [cut, named.expand(part=cut.output)]


def _common(doc: str, alerts: Sequence[Alert] = (), schedule: Schedule = _BY_HAND) -> dict[str, Any]:
    return {
        "start_date": schedule.start or _SINCE,
        "catchup": schedule.catchup,
        "max_active_runs": 1,
        "default_args": {**_TASKS, **of_failures(alerts)},
        "tags": ["tidemark"],
        "doc_md": doc,
    }
