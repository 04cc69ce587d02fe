"""Late versions: what a late left row of an as-of join finds, which depends on the versions that its key has dropped.

Law (rules 101-105): a late left row has event time a and the watermark w >= a before it. It is emitted with the rows
that have arrived before the next advance. Its key has fired last at the reach F, at an advance to R (`key_firings`).

    gone      there is a version b in (a, R] that arrived before that advance (the watermark before it is less than F)
    version   if gone, of the late versions with b <= a and the watermark w before them; else of all versions with
              b <= a and at most w: the greatest b, of equal b the last to arrive

A key that fires drops all versions below the newest that is reached. If that one is after a, only versions that arrived
after R are left. These are late, and came at w, since they fire their key themselves.

So a late version with a lesser watermark before it has come before F. Two running maxima over the late rows decide,
however many rows a key has on both sides:

- `_EARLIER`, the greatest of these versions between the same two on-time versions as a. If it is after a, older
  versions are gone. If not, it is the greatest of them that counts.
- `_BEST`, the greatest of the late versions with b <= a and the watermark w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.joins import key_firings
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, ROW, is_side
from spark_jobs.replay.joins.join_watermark import Judged
from spark_jobs.replay.joins.key_firings import ANY, AT, CELL, NEXT, REACHED, KeyRows
from spark_jobs.replay.joins.null_safe import OTHER, null_safe_join
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.store import Store
from spark_jobs.replay.watermark import timeline
from spark_jobs.replay.windows import lateness

VERDICT = c.PREFIX + "verdict"
#: Verdicts: a late left row with and without a version, one that no emission has reached, and a late version.
JOINED, UNMATCHED, WAITS, KEPT = "joined", "unmatched", "waits", "kept"

_CANDIDATE = c.PREFIX + "candidate"  # a late version, a struct of `ts_ms` and `row`
_NEWEST, _EARLIER, _BEST = c.PREFIX + "newest_ms", c.PREFIX + "earlier", c.PREFIX + "best"
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
    late_left = store.keep("late_left", lambda: distinct)
    if late_left.isEmpty():
        return LateVersions(keys, None)
    rows = KeyRows(judged, list(keys), late_left, timeline.is_exact_by_row(together))
    placed = key_firings.places(rows, advances, store)
    at_times = key_firings.at_event_times(placed, keys)
    by_emission = late_left.withColumn(AT, F.col(c.WATERMARK_MS) + F.lit(1))
    late_rows = null_safe_join(by_emission, at_times, [*keys, c.TS_MS])
    late_rows = null_safe_join(late_rows, key_firings.fired(placed, keys, advances), [*keys, AT])
    compared = _compared(late_rows, _late_versions(rows, at_times), keys)
    decided = _decided(compared, advances, keys, closes=together.replay.closes)
    return LateVersions(keys, store.keep("late_versions", lambda: decided))


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
    """Return the late versions: the key, `TS_MS`, `WATERMARK_MS`, `POSITION`, `CELL`, `_CANDIDATE`."""
    version = F.struct(F.col(c.TS_MS).alias("ts_ms"), F.col(ROW[RIGHT]).alias("row"))
    late = rows.late.where(is_side(RIGHT)).select(
        *rows.keys, c.TS_MS, c.WATERMARK_MS, c.POSITION, version.alias(_CANDIDATE)
    )
    return null_safe_join(late, at_times.select(*rows.keys, c.TS_MS, CELL), [*rows.keys, c.TS_MS])


def _compared(late_left: DataFrame, versions: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return late left rows with the late versions that may count for each.

    `_EARLIER` is the greatest of its cell with a lesser watermark before it. `_BEST` is the greatest up to the row's
    event time with the same watermark. Of equal event times the last to arrive counts.
    """
    rows = late_left.unionByName(versions, allowMissingColumns=True)
    is_version = F.col(_CANDIDATE).isNotNull()
    at_once = Window.partitionBy(*keys, c.WATERMARK_MS).orderBy(c.TS_MS, is_version.desc(), c.POSITION)
    # Left rows come before versions of their watermark.
    in_cell = Window.partitionBy(*keys, CELL).orderBy(c.WATERMARK_MS, is_version, c.POSITION)
    so_far, earlier = (order.rowsBetween(Window.unboundedPreceding, Window.currentRow) for order in (at_once, in_cell))
    best = rows.withColumn(_BEST, F.last(_CANDIDATE, ignorenulls=True).over(so_far))
    newest = best.withColumn(_NEWEST, F.max(F.when(is_version, F.col(c.TS_MS))).over(earlier))
    replaces = F.when(F.col(c.TS_MS) == F.col(_NEWEST), F.col(_CANDIDATE))
    compared = newest.withColumn(_EARLIER, F.last(replaces, ignorenulls=True).over(earlier))
    return compared.where(~is_version).drop(_CANDIDATE, c.POSITION, _NEWEST)


def _decided(compared: DataFrame, advances: DataFrame, keys: Sequence[str], *, closes: bool) -> DataFrame:
    """Return the rows of `LateVersions.corrections`; `closes`: the input ends."""
    last = F.broadcast(advances.agg(F.max("watermark_ms").alias("last_ms")))
    earlier_ms, best_ms = (F.col(name).getField("ts_ms") for name in (_EARLIER, _BEST))
    passes = F.coalesce(earlier_ms > F.col(c.TS_MS), F.lit(False))
    is_gone = F.coalesce(F.col(NEXT) <= F.col(REACHED), F.lit(False)) | passes
    is_best = is_gone | earlier_ms.isNull() | (best_ms >= earlier_ms)
    replacement = F.when(is_best, F.col(_BEST)).otherwise(F.col(_EARLIER))
    matches = replacement.isNotNull() | (~is_gone & F.col(ANY).isNotNull())
    verdict = F.when(matches, JOINED).otherwise(UNMATCHED)
    if not closes:
        verdict = F.when(F.col(c.WATERMARK_MS) >= F.col("last_ms"), WAITS).otherwise(verdict)
    names = [*keys, c.TS_MS, c.WATERMARK_MS]
    return compared.crossJoin(last).select(
        *names, is_gone.alias(_GONE), replacement.alias(_REPLACEMENT), verdict.alias(VERDICT)
    )
