"""Late versions: what a late left row of an as-of join finds, which depends on the versions that its key has dropped.

Law (rules 101-105): a late left row has event time a and the watermark w >= a before it. It is emitted with the rows
that have arrived before the next advance. Its key has fired last at the reach F, at an advance to R (`key_firings`).

    gone      there is a version b in (a, R] that arrived before that advance (the watermark before it is less than F)
    version   if gone, of the late versions with b <= a and the watermark w before them; else of all versions with
              b <= a and at most w: the greatest b, of equal b the last to arrive

A key that fires drops all versions below the newest that is reached. If that one is after a, only versions that arrived
after R are left. These are late, and came at w, since they fire their key themselves.

A late version is compared with the late left rows between the same two on-time versions: any other is not the greatest,
or decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.joins import key_firings
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, ROW, is_side
from spark_jobs.replay.joins.join_watermark import Judged
from spark_jobs.replay.joins.key_firings import ANY, AT, CELL, FIRED, NEXT, REACHED, KeyRows
from spark_jobs.replay.joins.null_safe import OTHER, null_safe_join
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.store import Store
from spark_jobs.replay.watermark import timeline
from spark_jobs.replay.windows import lateness

VERDICT = c.PREFIX + "verdict"
#: Verdicts: a late left row with and without a version, one that no emission has reached, and a late version.
JOINED, UNMATCHED, WAITS, KEPT = "joined", "unmatched", "waits", "kept"

_NEAR, _PASSES, _BEST = c.PREFIX + "is_near", c.PREFIX + "passes", c.PREFIX + "best"
_GONE, _REPLACEMENT = c.PREFIX + "is_gone", c.PREFIX + "replacement"
# More late left rows than this are joined with all left rows by shuffling both sides.
_BROADCAST = 200_000


@dataclass(frozen=True)
class LateVersions:
    """What late left rows find, by their key, event time and watermark; `keys` are the names of the key columns.

    A row of `corrections` has the key, `TS_MS`, `WATERMARK_MS` and `VERDICT` of a late left row. It shows whether older
    versions are gone, and the late version that may replace the version of the event time. None: no left row is late.
    """

    keys: Sequence[str]
    corrections: DataFrame | None


def late_versions(
    judged: Judged, advances: DataFrame, keys: Sequence[str], store: Store, together: Pipeline
) -> LateVersions:
    """Return what the late left rows of `judged` find. `advances` are stored; `together` defines the epochs."""
    late = judged.near.where(lateness.is_reached(F.col(c.TS_MS), F.col(c.WATERMARK_MS)))
    distinct = late.where(is_side(LEFT)).select(*keys, c.TS_MS, c.WATERMARK_MS).distinct()
    late_left = store.keep("late_left", distinct)
    if late_left.isEmpty():
        return LateVersions(keys, None)
    rows = KeyRows(judged, list(keys), late_left, timeline.is_exact_by_row(together))
    placed = key_firings.places(rows, advances, store)
    at_times = key_firings.at_event_times(placed, keys)
    by_emission = late_left.withColumn(AT, F.col(c.WATERMARK_MS) + F.lit(1))
    late_rows = null_safe_join(by_emission, at_times, [*keys, c.TS_MS])
    late_rows = null_safe_join(late_rows, key_firings.fired(placed, keys, advances), [*keys, AT])
    compared = _compared(late_rows, _late_versions(rows, at_times), keys)
    decided = _decided(late_rows, compared, advances, keys, closes=together.replay.closes)
    return LateVersions(keys, store.keep("late_versions", decided))


def corrected(matched: DataFrame, version: str, late: LateVersions) -> DataFrame:
    """Return `matched` left rows with the column `version`, a struct of `ts_ms` and `row`, corrected for late rows.

    `matched` has `WATERMARK_MS` in late rows only, and in `version` the newest one of reach up to the row's event time.
    """
    if late.corrections is None:
        return matched
    names = [*late.keys, c.TS_MS]
    corrections = late.corrections.select(*names, c.WATERMARK_MS, _GONE, _REPLACEMENT)
    # A broadcast avoids a shuffle of all left rows.
    few = F.broadcast(corrections) if corrections.count() <= _BROADCAST else corrections
    is_same = F.col(c.WATERMARK_MS) == F.col(c.WATERMARK_MS + OTHER)
    beside = null_safe_join(matched, few, names, is_same, "left")
    own, other = F.col(version), F.col(_REPLACEMENT)
    # A late version arrived at the row's event time or after it, so it replaces one of equal time.
    is_newer = other.isNotNull() & (own.isNull() | (other.getField("ts_ms") >= own.getField("ts_ms")))
    chosen = F.when(F.col(_GONE) | is_newer, other).otherwise(own)
    return beside.withColumn(version, chosen).drop(_GONE, _REPLACEMENT, c.WATERMARK_MS + OTHER)


def with_verdict(late_left: DataFrame, late: LateVersions) -> DataFrame:
    """Return late left rows with `VERDICT`."""
    if late.corrections is None:
        return late_left.withColumn(VERDICT, F.lit(UNMATCHED))
    names = [*late.keys, c.TS_MS, c.WATERMARK_MS]
    return null_safe_join(late_left, late.corrections.select(*names, VERDICT), names)


def _late_versions(rows: KeyRows, at_times: DataFrame) -> DataFrame:
    """Return the late versions: the key, `version_ms`, `version_before_ms`, `POSITION`, the row, `CELL`."""
    late = rows.late.where(is_side(RIGHT)).select(*rows.keys, c.TS_MS, c.WATERMARK_MS, c.POSITION, ROW[RIGHT])
    placed = null_safe_join(late, at_times.select(*rows.keys, c.TS_MS, CELL), [*rows.keys, c.TS_MS])
    return placed.withColumnsRenamed({c.TS_MS: "version_ms", c.WATERMARK_MS: "version_before_ms"})


def _compared(late_left: DataFrame, versions: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Compare late left rows with late versions.

    A row is a key, `TS_MS` and `WATERMARK_MS` of `late_left`: `_PASSES` if a late version has dropped older ones,
    `_NEAR` the greatest that counts if none are gone, `_BEST` if they are (structs of `ts_ms` and `row`).
    """
    names = [*keys, c.TS_MS, c.WATERMARK_MS]
    a, w = F.col(c.TS_MS), F.col(c.WATERMARK_MS)
    b, before = F.col("version_ms"), F.col("version_before_ms")
    is_valid, never = b <= a, F.lit(False)
    in_cell = null_safe_join(late_left, versions, [*keys, CELL]).select(
        *names,
        (is_valid & before.between(a, w)).alias(_NEAR),
        never.alias(_BEST),
        F.coalesce((b > a) & (before < F.col(FIRED)), never).alias(_PASSES),
        *_candidate(),
    )
    at_once = null_safe_join(late_left, versions.drop(CELL), keys, is_valid & (before == w)).select(
        *names, never.alias(_NEAR), F.lit(True).alias(_BEST), never.alias(_PASSES), *_candidate()
    )
    together = in_cell.where(F.col(_NEAR) | F.col(_PASSES)).union(at_once)
    greatest = {
        name: F.max_by(F.when(F.col(name), F.col("version")), F.when(F.col(name), F.col("place")))
        for name in (_NEAR, _BEST)
    }
    return together.groupBy(*names).agg(
        F.max(_PASSES).alias(_PASSES), *(column.alias(name) for name, column in greatest.items())
    )


def _candidate() -> list[Column]:
    """Return a late version as a result, and its place among the versions."""
    return [
        F.struct(F.col("version_ms").alias("ts_ms"), F.col(ROW[RIGHT]).alias("row")).alias("version"),
        F.struct("version_ms", c.POSITION).alias("place"),
    ]


def _decided(
    late_left: DataFrame, compared: DataFrame, advances: DataFrame, keys: Sequence[str], *, closes: bool
) -> DataFrame:
    """Return the rows of `LateVersions.corrections`; `closes`: the input ends."""
    names = [*keys, c.TS_MS, c.WATERMARK_MS]
    beside = null_safe_join(late_left, compared, names, how="left")
    last = F.broadcast(advances.agg(F.max("watermark_ms").alias("last_ms")))
    is_gone = F.coalesce(F.col(NEXT) <= F.col(REACHED), F.lit(False)) | F.coalesce(_PASSES, F.lit(False))
    replacement = F.when(is_gone, F.col(_BEST)).otherwise(F.col(_NEAR))
    matches = replacement.isNotNull() | (~is_gone & F.col(ANY).isNotNull())
    verdict = F.when(matches, JOINED).otherwise(UNMATCHED)
    if not closes:
        verdict = F.when(F.col(c.WATERMARK_MS) >= F.col("last_ms"), WAITS).otherwise(verdict)
    return beside.crossJoin(last).select(
        *names, is_gone.alias(_GONE), replacement.alias(_REPLACEMENT), verdict.alias(VERDICT)
    )
