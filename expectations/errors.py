"""The error of an audit that cannot run. An audit that fails is not an error."""

from __future__ import annotations

from spark_jobs.error_codes import ErrorCode


class AuditError(ValueError):
    """A check cannot be computed. The message states the cause, the value found and what to do."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.EXPECTATION_BROKEN) -> None:
        super().__init__(message)
        self.code = code
