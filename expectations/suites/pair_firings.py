"""Firings of pairs: the firings of a window join, one row for each pane number of a (key, window).

All pairs of a firing have one firing time. A firing without pairs is in no table: one input had no rows yet. Once a
window has pairs, accumulating firings repeat all of them, so no later number is missing. A late row that fires alone,
with discarding accumulation, has no pairs (rules 95, 96).
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from expectations import lateness, windows
from expectations.invariant import Invariant, Suite
from expectations.staged_join import FIRING, StagedJoin
from expectations.staged_tables import WINDOW
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import PAIRS

_MOMENT = ("timing", "fired_at", "watermark")


def rows(staged: StagedJoin) -> DataFrame:
    """Return the firings that have pairs.

    `moments` is the number of different timings, firing times and watermarks of their pairs. `previous_*` are the
    values of the firing before.
    """
    firings = staged.pairs.groupBy("key", *WINDOW, "pane_index").agg(
        F.count("*").alias("pairs"),
        F.count_distinct(F.struct(*_MOMENT)).alias("moments"),
        *(F.min(name).alias(name) for name in _MOMENT),
    )
    in_order = Window.partitionBy("key", *windows.bounds(staged.pipeline)).orderBy("pane_index")
    before = {
        f"previous_{name}": F.lag(name).over(in_order) for name in ("pane_index", "pairs", "fired_at", "watermark")
    }
    return firings.withColumns({"place": F.row_number().over(in_order), **before})


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of the firings of a window join; none for other pipelines."""
    if pipeline.join is None or not pipeline.join.by_window:
        return ()
    lateness_ms = pipeline.windows.lateness_ms
    return (
        Invariant(
            "pairs_of_a_firing_come_together",
            "All pairs of a key, window and pane number have one timing, one moment and one watermark.",
            "moments = 1",
        ),
        Invariant(
            "no_firing_comes_before_its_watermark",
            "A window fires once the watermark has reached its last millisecond.",
            lateness.is_complete(),
        ),
        Invariant(
            "no_late_firing_comes_after_cleanup",
            f"A late row fires its window while the watermark is under {lateness_ms:,} ms past its last millisecond.",
            f"timing <> 'late' OR NOT ({lateness.is_closed(lateness_ms)})",
        ),
        Invariant(
            "firings_are_on_time_or_late",
            "The timing of a firing is on_time or late.",
            "timing IN ('on_time', 'late')",
        ),
        Invariant(
            "only_firing_0_is_on_time",
            "The watermark fires a window once, before any late row does: a firing on time has number 0.",
            "timing <> 'on_time' OR pane_index = 0",
        ),
        Invariant(
            "firings_come_in_the_order_of_their_numbers",
            "From one firing of a key and window to the next, neither the clock nor the watermark goes back.",
            "place = 1 OR (fired_at >= previous_fired_at AND watermark >= previous_watermark)",
        ),
        _numbered(pipeline),
    )


def _numbered(pipeline: Pipeline) -> Invariant:
    if pipeline.windows.discards:
        return Invariant(
            "late_rows_alone_have_no_partner",
            "With discarding accumulation a late firing holds one row, and no pairs.",
            "timing = 'on_time'",
        )
    return Invariant(
        "firings_show_all_pairs_so_far",
        "After a firing with pairs, the next number has the same pairs and possibly more.",
        "pane_index >= 0 AND (place = 1 OR (pane_index = previous_pane_index + 1 AND pairs >= previous_pairs))",
    )


SUITE = Suite("pair_firings", PAIRS, rows, invariants, shows=("key", *WINDOW, *FIRING, "fired_at", "pairs", "moments"))
