"""The built-in suites, one a module, in the order in which they are checked and shown.

To add a law, add it to its suite's `laws`; to add a suite, write a module like these and name it here.
"""

from expectations.law import Suite
from expectations.suites import late_events, panes, run, source, watermarks, window_results

SUITES: tuple[Suite, ...] = (
    source.SUITE,
    watermarks.SUITE,
    panes.SUITE,
    window_results.SUITE,
    late_events.SUITE,
    run.SUITE,
)
