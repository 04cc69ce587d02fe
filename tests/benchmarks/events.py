"""The benchmark's events: a day of them, in the order in which they arrived, the same for the same number and seed.

    arrival_time   evenly spread over 2025-01-01
    event_time     arrival_time - delay, delay = 2 s * (u^-0.8 - 1), at most 6 h: half arrive within 1.5 s, 1 in 10
                   after more than 10 s, 1 in 70 after more than 1 min, 1 in 1,250 after more than 10 min
    origin         p0 to p3, key k0000 to k9999, both uniform
    value          a quarter of a whole number up to 1,000: exact in binary, so that sums do not depend on their order

Every number comes from a hash of the event's id: how many tasks make them does not matter. A `Spread` changes how many
days, keys and origins there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

DEFAULT_SEED = 1
# One for an hour: a size as a live table has them.
FILES, _DAYS_BY_HOUR = 24, 14

_DAY_US = 86_400_000_000
_FIRST_US = 1_735_689_600_000_000
_RESOLUTION = 2**40


@dataclass(frozen=True)
class Spread:
    """How the events are spread.

    - `hot_share`: the share of the events that have key k0000; all keys are equal by default;
    - `files`: how many files the table has; by default one an hour, and for more than two weeks 24;
    - `in_one_window`: each event has key k0000 and happened in the first ten minutes. Only the first event happened a
      quarter of an hour later, so all others come behind the watermark.
    """

    keys: int = 10_000
    partitions: int = 4
    days: int = 1
    hot_share: float = 0.0
    files: int | None = None
    in_one_window: bool = False


_USUAL = Spread()


def path_of(folder: Path, rows: int, seed: int) -> Path:
    """The table of this many events; made with other code it would need another name."""
    return folder / f"arrivals-{rows}-seed-{seed}"


def arrival_us(event_id: int, rows: int, spread: Spread = _USUAL) -> int:
    """Return when an event arrived, in microseconds since 1970."""
    return _FIRST_US + event_id * (spread.days * _DAY_US // rows)


def generate(spark: SparkSession, path: Path, rows: int, seed: int, spread: Spread = _USUAL) -> dict[str, int]:
    """Write the table of `rows` events, unless it is there; gives how many were written."""
    if any(path.glob("_delta_log/*.json")):
        return {"written": 0}
    arrival_us = F.lit(_FIRST_US) + F.col("id") * F.lit(spread.days * _DAY_US // rows)
    key = (_uniform(seed, 1) * spread.keys).cast("int")
    files = spread.files or (FILES * spread.days if spread.days <= _DAYS_BY_HOUR else FILES)
    events = spark.range(0, rows, 1, files).select(
        F.col("id").alias("event_id"),
        F.format_string("k%04d", F.when(_is_hot(seed, spread), 0).otherwise(key)).alias("key"),
        F.format_string("p%d", (_uniform(seed, 2) * spread.partitions).cast("int")).alias("origin"),
        F.timestamp_micros(_event_us(arrival_us, seed, spread)).alias("event_time"),
        F.timestamp_micros(arrival_us).alias("arrival_time"),
        (F.floor(_uniform(seed, 3) * 4000) / 4).alias("value"),
    )
    events.write.format("delta").mode("overwrite").save(str(path))
    return {"written": rows}


def _is_hot(seed: int, spread: Spread) -> Column:
    if spread.in_one_window:
        return F.lit(True)
    return _uniform(seed, 4) < F.lit(spread.hot_share)


def _event_us(arrival_us: Column, seed: int, spread: Spread) -> Column:
    if spread.in_one_window:
        since_us = F.when(F.col("id") == 0, F.lit(900_000_000)).otherwise(_uniform(seed, 0) * 600_000_000)
        return F.lit(_FIRST_US) + since_us.cast("long")
    delay_us = F.least((F.pow(1 - _uniform(seed, 0), F.lit(-0.8)) - 1) * 2e6, F.lit(6 * 3600e6)).cast("long")
    return arrival_us - delay_us


def _uniform(seed: int, index: int) -> Column:
    """A number in [0, 1) of the event, another for every `which`."""
    hashed = F.xxhash64(F.col("id"), F.lit(seed), F.lit(index))
    return F.pmod(hashed, F.lit(_RESOLUTION)) / F.lit(float(_RESOLUTION))
