"""The tasks that ask a person: before a run is published, if requested or if checks failed, and before a repair.

APPROVE    publish what is staged, or repair what is due; after a no, nothing is changed
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Context

from spark_jobs.job_protocol import STAGED_SIZES, StepState, add_counts
from tidemark_airflow.jobs.request import Request
from tidemark_airflow.jobs.task_ids import APPROVE, AUDIT, LOOK, REPLAY
from tidemark_airflow.tasks.repair import require_due
from tidemark_airflow.tasks.returned import planned_run, result_of, results_of

_NUMBERS = ("rows_read", "on_time", "late", "too_late", "invalid", *STAGED_SIZES, "checks_passed")


@dataclass(frozen=True)
class Question:
    """A question to a person; `body` is Markdown."""

    subject: str
    body: str


class AskingOperator(ApprovalOperator):
    """Waits for a person's yes; after a no the tasks behind it are skipped. Passes at once without a question."""

    template_fields: Sequence[str] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"task_id": APPROVE, "subject": "Go on?", **kwargs})

    @abstractmethod
    def question(self, context: Context) -> Question | None:
        """Return the question; None if no person has to decide."""

    def execute(self, context: Context) -> Any:
        """Ask the question, if there is one."""
        question = self.question(context)
        if question is None:
            return None
        self.subject, self.body = question.subject, question.body
        return super().execute(context)


class ApproveOperator(AskingOperator):
    """Asks a person whether to publish a run; after a no, the staged tables stay.

    Passes at once if the request does not want the question and no check failed, or if the run is published already.
    """

    def question(self, context: Context) -> Question | None:
        """Return what the run would publish, or which of its checks failed."""
        planned, audit = planned_run(context), result_of(context, AUDIT)
        is_failed = audit is not None and audit.state is StepState.NEEDS_APPROVAL
        failures = (audit.error or audit.message) if audit is not None and is_failed else ""
        if planned.is_published or not (is_failed or planned.request.get("approve")):
            return None
        counts = add_counts(results_of(context, REPLAY, AUDIT))
        although = " although checks have failed" if is_failed else ""
        subject = f"Publish run {planned.run_id} of {planned.pipeline}{although}?"
        return Question(subject, question_body(planned.request, counts, failures))


class ApproveRepairOperator(AskingOperator):
    """Asks a person whether to repair the windows that are due; skipped if there are none."""

    def question(self, context: Context) -> Question:
        """Return which windows are due. Raises AirflowSkipException."""
        look = require_due(result_of(context, LOOK))
        windows, rows = look.counts["repaired_windows"], look.counts["repaired_rows"]
        subject = f"Repair {_amount(windows, 'window')} with {_amount(rows, 'row')} in {look.pipeline}?"
        body = f"{look.message}. They would be recomputed with these rows, and nothing else would change."
        return Question(subject, body)


def question_body(request: Request, counts: Mapping[str, int], failures: str = "") -> str:
    """Return the text of the question about a run, in Markdown; `failures` lists failed checks, with examples."""
    checks = "Some of its checks have failed." if failures else "All of its checks have passed."
    lines = [f"Windows: {_between(request.get('start'), request.get('end'))}. {checks}", ""]
    if failures:
        lines += [*_verbatim(failures.splitlines()), ""]
    overrides = request.get("overrides")
    if overrides:
        lines += ["Settings that differ from the file:", "", *_verbatim(f"{k} = {v}" for k, v in overrides.items()), ""]
    lines += ["| | |", "|---|---:|"]
    return "\n".join(
        lines + [f"| {name.replace('_', ' ')} | {counts[name]:,} |" for name in _NUMBERS if name in counts]
    )


def user_of(answer: Mapping[str, Any]) -> str:
    """Return the name of the person who has answered a question."""
    user = answer.get("responded_by_user") or {}
    return str(user.get("name") or user.get("id") or "somebody")


def _amount(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _verbatim(lines: Iterable[str]) -> Iterator[str]:
    # Indented, so that nothing in a value is Markdown.
    return (f"    {part}" for line in lines for part in line.splitlines())


def _between(start: str | None, end: str | None) -> str:
    bounds = [f"{word} {_moment(at)}" for word, at in (("from", start), ("to", end)) if at]
    return f"{' '.join(bounds)} UTC" if bounds else "all"


def _moment(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ").removesuffix(":00")
