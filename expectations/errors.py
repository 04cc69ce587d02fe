"""The error of an audit that cannot run. An audit that fails is not an error."""

from __future__ import annotations


class AuditError(ValueError):
    """A check cannot be computed. The message states the cause, the value found and what to do."""
