"""What is said when an audit cannot be made, as opposed to an audit that fails."""

from __future__ import annotations


class AuditError(ValueError):
    """A check that cannot be asked: what was asked, what was found, what to do."""
