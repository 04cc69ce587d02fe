"""The errors by which a job refuses: wrong input, a blocked run, a plan that is out of date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_jobs.error_codes import ErrorCode


@dataclass(frozen=True)
class Misfit:
    """A way in which a pipeline and its source do not fit: a line of an `InputError`, with the code of its cause."""

    message: str
    code: ErrorCode


class InputError(ValueError):
    """The user's own mistake: what was requested, the value found, what to do. Exit code 2."""

    def __init__(self, message: str, *, code: ErrorCode) -> None:
        super().__init__(message)
        self.code = code


def require_fit(misfits: Iterable[Misfit]) -> None:
    """Raise InputError with a line for each misfit and the code of the first; return if there is none."""
    if lines := list(dict.fromkeys(misfits)):
        raise InputError("\n".join(line.message for line in lines), code=lines[0].code)


class BlockedError(RuntimeError):
    """A run whose checks failed, so that it may not be published; the message names the checks. Exit code 3.

    `needs_approval`: the pipeline leaves the decision to a person. `counts` are those of the step that failed. `report`
    is the page about the run, None where it is not written. `figures` are Spark's of the step.
    """

    code = ErrorCode.CHECKS_FAILED

    def __init__(
        self,
        reason: str,
        *,
        run_id: str,
        needs_approval: bool = False,
        counts: Mapping[str, int] | None = None,
        report: str | None = None,
        figures: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(reason)
        self.run_id = run_id
        self.needs_approval = needs_approval
        self.counts = counts or {}
        self.report = report
        self.figures = figures or {}

    def with_report(self, report: str | None) -> BlockedError:
        """Return the error with the page about its run."""
        return self._with(report, self.figures)

    def with_figures(self, figures: Mapping[str, float]) -> BlockedError:
        """Return the error with Spark's figures of the step."""
        return self._with(self.report, figures)

    def _with(self, report: str | None, figures: Mapping[str, float]) -> BlockedError:
        return BlockedError(
            str(self),
            run_id=self.run_id,
            needs_approval=self.needs_approval,
            counts=self.counts,
            report=report,
            figures=figures,
        )


class StaleError(InputError):
    """The run was planned on results that are no longer the published ones; the same request plans a new run."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.PLAN_STALE) -> None:
        super().__init__(message, code=code)


class RegistrationError(RuntimeError):
    """A published run whose tables lack names in the catalog; the same command makes them. Exit code 1."""

    code = ErrorCode.NOT_REGISTERED
