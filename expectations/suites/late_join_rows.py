"""Late rows of a join: one row of an input each, too late to be in any pair.

In an interval join, the event time of the row is less than the watermark before it (rule 91). In a window join, the
window of the row was closed (rules 51-54). In an as-of join, the event time is not greater than the watermark (rule
104), and the row may be in a pair.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from expectations.invariant import Invariant, Suite
from expectations.staged_join import StagedJoin
from expectations.suites import late_events
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import LATE_EVENTS


def rows(staged: StagedJoin) -> DataFrame:
    """Return the late rows."""
    return staged.late_events


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of late rows; none for a pipeline without a join."""
    if pipeline.join is None:
        return ()
    names = ", ".join(f"'{name}'" for name in pipeline.join.names)
    of_an_input = Invariant(
        "late_rows_are_of_an_input",
        f"The source of a late row is one of {names}.",
        f"source IN ({names})",
    )
    if pipeline.join.by_window:
        return (of_an_input, *late_events.of_rows(pipeline))
    if pipeline.join.is_as_of:
        return (of_an_input, *_of_as_of(pipeline, pipeline.join.names))
    behind = Invariant(
        "late_rows_lie_strictly_behind_their_watermark",
        "The event time of a late row is less than the watermark before it, by late_by_ms.",
        "late_by_ms > 0 AND late_by_ms = unix_millis(watermark) - unix_millis(event_time)",
    )
    return (of_an_input, behind)


def _of_as_of(pipeline: Pipeline, names: tuple[str, str]) -> tuple[Invariant, ...]:
    first, second = names
    verdicts = ("joined", "unmatched", *(() if pipeline.replay.closes else ("waits",)))
    listed = ", ".join(f"'{verdict}'" for verdict in verdicts)
    return (
        Invariant(
            "late_rows_lie_at_their_watermark_or_behind_it",
            "The event time of a late row is the watermark before it or less, by late_by_ms.",
            "late_by_ms >= 0 AND late_by_ms = unix_millis(watermark) - unix_millis(event_time)",
        ),
        Invariant(
            "late_rows_have_a_verdict_of_their_input",
            f"The verdict of a late row of {first} is {' or '.join(verdicts)}; a late row of {second} is kept.",
            f"(source = '{first}' AND verdict IN ({listed})) OR (source = '{second}' AND verdict = 'kept')",
        ),
    )


SUITE = Suite(
    "late_join_rows",
    LATE_EVENTS,
    rows,
    invariants,
    shows=("source", "event_time", "arrival_time", "watermark", "late_by_ms"),
)
