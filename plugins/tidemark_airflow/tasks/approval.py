"""The tasks that ask a person: before a run is published, if that was wanted or checks failed, and before a repair.

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
from airflow.sdk.exceptions import AirflowSkipException

from tidemark_airflow.tasks.spark_job import APPROVE, ASKS, LOOK, NOTHING, PLAN

_NUMBERS = ("rows_read", "on_time", "late", "too_late", "invalid", "pairs", "windows", "panes", "checks_passed")


@dataclass(frozen=True)
class Question:
    """What a person is asked; `body` is Markdown."""

    subject: str
    body: str


class AskingOperator(ApprovalOperator):
    """Waits for a yes of a person; after a no the tasks behind it are skipped. Passes where there is no question."""

    template_fields: Sequence[str] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"task_id": APPROVE, "subject": "Go on?", **kwargs})

    @abstractmethod
    def question(self, context: Context) -> Question | None:
        """What is asked; None where nobody has to be."""

    def execute(self, context: Context) -> Any:
        """Ask, if there is something to ask."""
        question = self.question(context)
        if question is None:
            return None
        self.subject, self.body = question.subject, question.body
        return super().execute(context)


class ApproveOperator(AskingOperator):
    """Asks whether a run is published; if not, what is staged stays there.

    Passes at once where nobody has to be asked: the request does not want it and no check has failed, or the run is
    published already.
    """

    def question(self, context: Context) -> Question | None:
        """What the run would publish, or what of it has failed."""
        plan = context["ti"].xcom_pull(task_ids=PLAN)
        replay, audit = (context["ti"].xcom_pull(task_ids=step) or {} for step in ("replay", "audit"))
        failed = audit["error"] if audit.get("state") == ASKS else ""
        if plan.get("versions") or not (failed or plan["request"].get("approve")):
            return None
        counts = {name: n for said in (replay, audit) for name, n in (said.get("counts") or {}).items()}
        although = " although checks have failed" if failed else ""
        subject = f"Publish run {plan['run_id']} of {plan['pipeline']}{although}?"
        return Question(subject, asked(plan, counts, failed))


class ApproveRepairOperator(AskingOperator):
    """Asks whether the windows that are due are repaired; skips itself where none is."""

    def question(self, context: Context) -> Question:
        """Which windows are due. Raises AirflowSkipException."""
        said = context["ti"].xcom_pull(task_ids=LOOK)
        if said["state"] == NOTHING:
            raise AirflowSkipException(said["message"])
        counts = said["counts"]
        due = " with ".join(
            f"{n:,} {one}" if n == 1 else f"{n:,} {one}s"
            for one, n in (("window", counts["repaired_windows"]), ("row", counts["repaired_rows"]))
        )
        body = f"{said['message']}. They would be computed again with these rows, and nothing else would change."
        return Question(f"Repair {due} in {said['pipeline']}?", body)


def asked(plan: Mapping[str, Any], counts: Mapping[str, int], failed: str = "") -> str:
    """What a person is told who is asked, in Markdown; `failed` says which checks have, with examples."""
    request = plan["request"]
    checks = "Checks of it have failed." if failed else "All of its checks have passed."
    lines = [f"Windows: {_between(request.get('start'), request.get('end'))}. {checks}", ""]
    if failed:
        lines += [*_verbatim(failed.splitlines()), ""]
    overrides = request.get("overrides")
    if overrides:
        lines += ["Settings that are not the file's:", "", *_verbatim(f"{k} = {v}" for k, v in overrides.items()), ""]
    lines += ["| | |", "|---|---:|"]
    return "\n".join(
        lines + [f"| {name.replace('_', ' ')} | {counts[name]:,} |" for name in _NUMBERS if name in counts]
    )


def _verbatim(lines: Iterable[str]) -> Iterator[str]:
    # Indented, so that nothing in a value is Markdown.
    return (f"    {part}" for line in lines for part in line.splitlines())


def _between(start: str | None, end: str | None) -> str:
    bounds = [f"{word} {_moment(at)}" for word, at in (("from", start), ("to", end)) if at]
    return f"{' '.join(bounds)} UTC" if bounds else "all"


def _moment(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ").removesuffix(":00")
