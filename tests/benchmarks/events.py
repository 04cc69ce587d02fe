"""The benchmark's events: a day of them, in the order in which they arrived, the same for the same number and seed.

    arrival_time   evenly spread over 2025-01-01
    event_time     arrival_time - delay, delay = 2 s * (u^-0.8 - 1), at most 6 h: half arrive within 1.5 s, 1 in 10
                   after more than 10 s, 1 in 70 after more than 1 min, 1 in 1,250 after more than 10 min
    origin         p0 to p3, key k0000 to k9999, both uniform
    value          a quarter of a whole number up to 1,000: exact in binary, so that sums do not depend on their order

Every number comes from a hash of the event's id: how many tasks make them does not matter.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

KEYS, SOURCES, DEFAULT_SEED = 10_000, 4, 1
# One for an hour: a size as a live table has them.
FILES = 24

_DAY_US = 86_400_000_000
_FIRST_US = 1_735_689_600_000_000
_RESOLUTION = 2**40


def path_of(folder: Path, rows: int, seed: int) -> Path:
    """The table of this many events; made with other code it would need another name."""
    return folder / f"arrivals-{rows}-seed-{seed}"


def generate(spark: SparkSession, path: Path, rows: int, seed: int) -> dict[str, int]:
    """Write the table of `rows` events, unless it is there; gives how many were written."""
    if any(path.glob("_delta_log/*.json")):
        return {"written": 0}
    since_us = F.col("id") * F.lit(_DAY_US // rows)
    delay_us = F.least((F.pow(1 - _uniform(seed, 0), F.lit(-0.8)) - 1) * 2e6, F.lit(6 * 3600e6)).cast("long")
    arrival_us = F.lit(_FIRST_US) + since_us
    events = spark.range(0, rows, 1, FILES).select(
        F.col("id").alias("event_id"),
        F.format_string("k%04d", (_uniform(seed, 1) * KEYS).cast("int")).alias("key"),
        F.format_string("p%d", (_uniform(seed, 2) * SOURCES).cast("int")).alias("origin"),
        F.timestamp_micros(arrival_us - delay_us).alias("event_time"),
        F.timestamp_micros(arrival_us).alias("arrival_time"),
        (F.floor(_uniform(seed, 3) * 4000) / 4).alias("value"),
    )
    events.write.format("delta").mode("overwrite").save(str(path))
    return {"written": rows}


def _uniform(seed: int, index: int) -> Column:
    """A number in [0, 1) of the event, another for every `which`."""
    hashed = F.xxhash64(F.col("id"), F.lit(seed), F.lit(index))
    return F.pmod(hashed, F.lit(_RESOLUTION)) / F.lit(float(_RESOLUTION))
