"""The tasks that look at all intervals of a range together: one question to a person, and the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context, TriggerRule
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from spark_jobs.job_protocol import RunState, StepResult, StepState, progress_line
from tidemark_airflow.jobs.request import is_in_intervals
from tidemark_airflow.jobs.task_ids import APPROVE, AT_A_TIME, CUT, PUBLISH, SUMMARY, in_intervals
from tidemark_airflow.tasks.approval import AskingOperator, Question, question_body, user_of
from tidemark_airflow.tasks.intervals import IN_ONE_PIECE

_MOST_LISTED = 20
#: The state of an interval that is staged, and that nobody has approved.
_WAITING = "waiting"


class ApproveIntervalsOperator(AskingOperator):
    """Asks a person once whether to publish all intervals that wait for it; returns them after a yes.

    An interval waits if the request wants the question, or if its checks failed and the pipeline leaves the decision to
    a person. Passes at once if none waits.
    """

    template_fields: Sequence[str] = ("request",)

    def __init__(self, *, request: Any, **kwargs: Any) -> None:
        super().__init__(**{"task_id": APPROVE, "trigger_rule": TriggerRule.ALL_DONE, **kwargs})
        self.request = request

    def execute(self, context: Context) -> Any:
        """Ask about the intervals that wait; returns none if none does."""
        if not self.request or not is_in_intervals(self.request):
            raise AirflowSkipException(IN_ONE_PIECE)
        super().execute(context)
        return []

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Return the intervals to publish, none after a no."""
        answer = super().execute_complete(context, event)
        if answer["chosen_options"] != [self.APPROVE]:
            return []
        user = user_of(answer)
        return [
            {**content["interval"], "run_id": content["run_id"], "because": _because(content, user)}
            for content in _waiting(context)
        ]

    def question(self, context: Context) -> Question | None:
        """Return what would be published; None if no interval waits."""
        contents = _waiting(context)
        if not contents:
            return None
        results = [StepResult.from_json(content) for content in contents]
        failures = [(c, r) for c, r in zip(contents, results, strict=True) if r.state is StepState.NEEDS_APPROVAL]
        although = f", {len(failures)} of them although checks have failed" if failures else ""
        subject = f"Publish {_amount(len(results))} of {results[0].pipeline}{although}?"
        counts: dict[str, int] = {}
        for result in results:
            for name, count in result.counts.items():
                counts[name] = counts.get(name, 0) + count
        lines = "\n".join(f"{c['interval']['name']}: {r.error or r.message}" for c, r in failures[:_MOST_LISTED])
        return Question(subject, question_body(self.request, counts, lines))


class SummaryOperator(BaseOperator):
    """Lists how each interval has ended; fails if one has failed, with what to do."""

    template_fields: Sequence[str] = ("request",)

    def __init__(self, *, request: Any, **kwargs: Any) -> None:
        super().__init__(**{"task_id": SUMMARY, "trigger_rule": TriggerRule.ALL_DONE, "retries": 0, **kwargs})
        self.request = request

    def execute(self, context: Context) -> dict[str, int]:
        """Return how many intervals are published, wait and failed. Raises AirflowFailException."""
        intervals = context["ti"].xcom_pull(task_ids=in_intervals(CUT))
        if not self.request or not is_in_intervals(self.request) or intervals is None:
            raise AirflowSkipException(IN_ONE_PIECE)
        ended = {content["interval"]["start"]: content for content in _ended(context)}
        approved = context["ti"].xcom_pull(task_ids=in_intervals(APPROVE))
        # A question that failed is no answer.
        to_publish = {interval["start"] for interval in (intervals if approved is None else approved)}
        counts, failed = dict.fromkeys((RunState.PUBLISHED.value, _WAITING, RunState.FAILED.value), 0), []
        for interval in intervals:
            content = ended.get(interval["start"])
            state = _state(content, is_approved=interval["start"] in to_publish)
            counts[state] += 1
            failed += [interval["name"]] if state == RunState.FAILED else []
            run = f", run {content['run_id']}" if content else ""
            self.log.info(progress_line(self.task_id, f"{interval['name']}: {state}{run}"))
        if failed:
            raise AirflowFailException(_failure(failed, len(intervals)))
        return counts


def _state(content: Mapping[str, Any] | None, *, is_approved: bool) -> str:
    if content is not None and content["versions"]:
        return RunState.PUBLISHED.value
    return RunState.FAILED.value if content is None or is_approved else _WAITING


def _failure(names: Sequence[str], count: int) -> str:
    lines = [f"  {name}" for name in names[:_MOST_LISTED]]
    more = [f"  and {len(names) - _MOST_LISTED} more"] if len(names) > _MOST_LISTED else []
    advice = (
        "The log of the task of an interval has the reason. Then trigger the same form with 'Only what is missing or "
        "failed': it takes the rest."
    )
    return "\n".join([f"{len(names)} of {_amount(count)} failed:", *lines, *more, advice])


def _ended(context: Context) -> list[dict[str, Any]]:
    """Return the results of all intervals, those of publishing last."""
    tasks = [in_intervals(task) for task in (*AT_A_TIME.values(), PUBLISH)]
    pulled = context["ti"].xcom_pull(task_ids=tasks) or []
    return [content for content in pulled if isinstance(content, dict) and "interval" in content]


def _waiting(context: Context) -> list[dict[str, Any]]:
    """Return the results of the intervals that are staged and not published."""
    return [content for content in _ended(context) if not content["versions"]]


def _because(content: Mapping[str, Any], user: str) -> str:
    return f"approved in Airflow by {user}" if content["state"] == StepState.NEEDS_APPROVAL else ""


def _amount(count: int) -> str:
    return f"{count:,} interval" if count == 1 else f"{count:,} intervals"
