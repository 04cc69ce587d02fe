"""Errors of tables that the user can repair."""

from __future__ import annotations

from spark_jobs.error_codes import ErrorCode


class SourceError(ValueError):
    """The source cannot be read. The message states the cause, the value found and what to do."""

    def __init__(self, message: str, *, code: ErrorCode) -> None:
        super().__init__(message)
        self.code = code


class LakeError(Exception):
    """The lake cannot be read or written; the message is one line with the path and the problem."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.LAKE_UNREADABLE) -> None:
        super().__init__(message)
        self.code = code


class CatalogError(ValueError):
    """A catalog cannot have the names of published tables. The message has the value found and what to do."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.CATALOG_UNUSABLE) -> None:
        super().__init__(message)
        self.code = code


class PublishError(ValueError):
    """A staged table cannot be published into the published table."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.COLUMNS_CHANGED) -> None:
        super().__init__(message)
        self.code = code
