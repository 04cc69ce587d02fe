"""Data quality: the built-in invariants and the expectations of a pipeline, checked before a run is published.

`check(tables, pipeline, counts)` returns a `Check` for each. The package `suites` has one module for each suite.
"""

from expectations.audit import check
from expectations.check_result import Answer, Check
from expectations.errors import AuditError
from expectations.live_results import LIVE
from expectations.measured_windows import EARLIER

__all__ = ["EARLIER", "LIVE", "Answer", "AuditError", "Check", "check"]
