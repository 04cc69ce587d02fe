"""The group of tasks that takes a range in intervals, beside the tasks of a range in one piece."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TaskGroup, chain

from tidemark_airflow.jobs.assets import PUBLISHED
from tidemark_airflow.jobs.pool import pool
from tidemark_airflow.jobs.task_ids import AT_A_TIME, INTERVALS, PUBLISH
from tidemark_airflow.tasks.interval_results import ApproveIntervalsOperator, SummaryOperator
from tidemark_airflow.tasks.intervals import ChooseOperator, CutOperator, IntervalOperator, PublishIntervalOperator

_NAME = "{{ task.interval['name'] }}"


def interval_tasks(request: Any, application: str) -> TaskGroup:
    """Return the group for the request that the task `check` returns."""
    with TaskGroup(INTERVALS, tooltip="A run for each interval; skipped for a range in one piece") as group:
        cut = CutOperator(request=request, application=application)
        choose = ChooseOperator(request=request)
        computed = [
            IntervalOperator.partial(
                task_id=task_id,
                request=request,
                application=application,
                outlets=[PUBLISHED],
                pool=pool(),
                max_active_tis_per_dagrun=count,
                map_index_template=_NAME,
            ).expand(interval=cut.output)
            for count, task_id in AT_A_TIME.items()
        ]
        approve = ApproveIntervalsOperator(request=request)
        publish = PublishIntervalOperator.partial(
            task_id=PUBLISH,
            request=request,
            application=application,
            outlets=[PUBLISHED],
            pool=pool(),
            max_active_tis_per_dagrun=1,
            map_index_template=_NAME,
        ).expand(interval=approve.output)
        summary = SummaryOperator(request=request)
        chain(cut, choose, computed, approve, publish, summary)
        cut >> summary
    return group
