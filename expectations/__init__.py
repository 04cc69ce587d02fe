"""Data quality: the invariants of time and a pipeline's own expectations, checked before anything is published.

`check(tables, pipeline, counts)` gives a `Check` for each; `suites` holds the built-in ones, a module a suite.
"""

from expectations.audit import check
from expectations.check_result import Answer, Check
from expectations.errors import AuditError
from expectations.staged import EARLIER, LIVE

__all__ = ["EARLIER", "LIVE", "Answer", "AuditError", "Check", "check"]
