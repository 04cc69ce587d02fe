"""The built-in suites, one a module, in the order in which the audit checks and shows them.

To add an invariant, add it to the `invariants` of its suite. To add a suite, write a module like these and list it
here. Suites with the same `rows` share one Spark aggregation.
"""

from expectations.invariant import Suite
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from expectations.suites import (
    clock,
    complete_results,
    coverage,
    drift,
    join_run,
    late_events,
    late_join_rows,
    live,
    pair_firings,
    pairs,
    panes,
    plausibility,
    retractions,
    run,
    silence,
    source,
    watermarks,
    window_results,
)

SUITES: tuple[Suite[Staged], ...] = (
    source.SUITE,
    watermarks.SUITE,
    clock.SUITE,
    panes.SUITE,
    window_results.OF_PANES,
    retractions.SUITE,
    window_results.SUITE,
    late_events.SUITE,
    complete_results.SUITE,
    coverage.SUITE,
    drift.SUITE,
    silence.SUITE,
    live.SUITE,
    plausibility.SUITE,
    run.SUITE,
)

#: The suites of a join.
JOIN_SUITES: tuple[Suite[StagedJoin], ...] = (
    source.JOIN_SUITE,
    pairs.SUITE,
    pair_firings.SUITE,
    late_join_rows.SUITE,
    plausibility.JOIN_SUITE,
    join_run.SUITE,
)
