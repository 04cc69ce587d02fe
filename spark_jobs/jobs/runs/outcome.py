"""What a step returns when it ends (`Outcome`), and the entry and result that are made of it (`Clock`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic

from spark_jobs.job_protocol import StepResult, StepState
from spark_jobs.tables.run import Run, Step


@dataclass(frozen=True)
class Outcome:
    """How a step ended, without the run and the time. `lines` are shown as progress once the ledger has the step."""

    message: str
    state: StepState = StepState.DONE
    counts: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    report: str | None = None
    slices: Sequence[str] = ()
    lines: Sequence[str] = ()


class Clock:
    """Measures a step from its construction on."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC)
        self._monotonic = monotonic()

    @property
    def seconds(self) -> float:
        """The seconds since then."""
        return round(monotonic() - self._monotonic, 3)

    def entry(
        self,
        step: str,
        state: StepState,
        counts: Mapping[str, int] | None = None,
        versions: Mapping[str, int] | None = None,
        error: str | None = None,
        note: str | None = None,
    ) -> Step:
        """Return the ledger's entry for a step that ends now."""
        return Step(step, state, self.at, datetime.now(UTC), counts or {}, versions or {}, error, note)

    def result(self, step: str, run: Run, outcome: Outcome) -> StepResult:
        """Return the result of a step of `run` that ends now."""
        return StepResult(
            step,
            run.run_id,
            run.pipeline,
            outcome.state,
            outcome.message,
            counts=outcome.counts,
            versions=outcome.versions,
            report=outcome.report,
            seconds=self.seconds,
            slices=outcome.slices,
        )
