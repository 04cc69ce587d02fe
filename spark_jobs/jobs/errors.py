"""The errors by which a job refuses: wrong input, a blocked run, a plan that is out of date."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.error_codes import ErrorCode


class InputError(ValueError):
    """The user's own mistake: what was requested, the value found, what to do. Exit code 2.

    Without a `code`, the message decides on it.
    """

    code: ErrorCode | None = None

    def __init__(self, message: str, *, code: ErrorCode | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class BlockedError(RuntimeError):
    """A run whose checks failed, so that it may not be published; the message names the checks. Exit code 3.

    `needs_approval`: the pipeline leaves the decision to a person. `counts` are those of the step that failed. `report`
    is the page about the run, None where it is not written.
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
    ) -> None:
        super().__init__(reason)
        self.run_id = run_id
        self.needs_approval = needs_approval
        self.counts = counts or {}
        self.report = report

    def with_report(self, report: str | None) -> BlockedError:
        """Return the error with the page about its run."""
        return BlockedError(
            str(self), run_id=self.run_id, needs_approval=self.needs_approval, counts=self.counts, report=report
        )


class StaleError(InputError):
    """The run was planned on results that are no longer the published ones; the same request plans a new run."""

    code = ErrorCode.PLAN_STALE
