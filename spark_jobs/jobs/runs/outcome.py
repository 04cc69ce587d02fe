"""What a step returns when it ends (`Outcome`), and the entry and result that are made of it (`Clock`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING

from spark_jobs.job_protocol import StepResult, StepState
from spark_jobs.tables.run import Run, Step

if TYPE_CHECKING:
    from spark_jobs.jobs.runs.meter import Meter


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
    """Measures a step from its construction on: its time, and with a `meter` what Spark does in it."""

    def __init__(self, meter: Meter | None = None) -> None:
        self.at = datetime.now(UTC)
        self._monotonic = monotonic()
        self._meter = meter
        if meter is not None:
            meter.begin()

    @property
    def seconds(self) -> float:
        """The seconds since then."""
        return round(monotonic() - self._monotonic, 3)

    @cached_property
    def figures(self) -> Mapping[str, float]:
        """Spark's figures of the step until they are first read; none without Spark."""
        return {} if self._meter is None else self._meter.end()

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
        return Step(step, state, self.at, datetime.now(UTC), counts or {}, versions or {}, error, note, self.figures)

    def result(self, step: str, run: Run, outcome: Outcome) -> StepResult:
        """Return the result of a step of `run` that ends now."""
        return StepResult(
            step,
            run.run_id,
            run.pipeline,
            outcome.state,
            outcome.message,
            counts=outcome.counts,
            figures=self.figures if outcome.state is StepState.DONE else {},
            versions=outcome.versions,
            report=outcome.report,
            seconds=self.seconds,
            slices=outcome.slices,
        )
