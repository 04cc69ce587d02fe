"""The task that asks a person before a run is published, if whoever started it wanted that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Context

from tidemark_airflow.operators import PLAN

APPROVE = "approve"
_NUMBERS = ("rows_read", "on_time", "late", "too_late", "invalid", "pairs", "windows", "panes", "checks_passed")


class ApproveOperator(ApprovalOperator):
    """Waits for a yes of a person; after a no nothing is published, and what is staged stays there.

    Passes at once where nobody has to be asked: the request does not want it, or the run is published already.
    """

    template_fields: Sequence[str] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"task_id": APPROVE, "subject": "Publish?", **kwargs})

    def execute(self, context: Context) -> Any:
        """Ask, with what the run would publish."""
        plan = context["ti"].xcom_pull(task_ids=PLAN)
        if not plan["request"].get("approve") or plan.get("versions"):
            return None
        said = [context["ti"].xcom_pull(task_ids=step) or {} for step in ("replay", "audit")]
        self.subject = f"Publish run {plan['run_id']} of {plan['pipeline']}?"
        self.body = asked(plan, {name: n for one in said for name, n in (one.get("counts") or {}).items()})
        return super().execute(context)


def asked(plan: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """What a person is told who is asked, in Markdown."""
    request = plan["request"]
    between = " to ".join(request.get(bound) or "without bound" for bound in ("start", "end"))
    lines = [f"Windows: {between}. All of its checks have passed.", "", "| | |", "|---|---:|"]
    return "\n".join(
        lines + [f"| {name.replace('_', ' ')} | {counts[name]:,} |" for name in _NUMBERS if name in counts]
    )
