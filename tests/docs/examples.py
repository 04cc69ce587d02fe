"""The example tables that pages start from, each a Delta table in the folder `data` of a scenario."""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

FIRST_DAY = date(2024, 5, 1)
_SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "clicks.py"


def clicks(day: date) -> list[dict[str, Any]]:
    """The clicks of the tutorial."""
    rows: list[dict[str, Any]] = runpy.run_path(str(_SCRIPT))["clicks"](day)
    return rows


def orders(day: date) -> list[dict[str, Any]]:
    """An order every ten minutes."""
    return list(_ordered(day, ("order_id", "ordered_at"), timedelta(0)))


def payments(day: date) -> list[dict[str, Any]]:
    """A payment for each order, minutes after it."""
    return list(_ordered(day, ("order_id", "paid_at"), timedelta(minutes=7)))


def _ordered(day: date, columns: tuple[str, str], behind: timedelta) -> Iterator[dict[str, Any]]:
    draw = random.Random(day.toordinal())
    for i in range(144):
        at = datetime.combine(day, time(), UTC) + timedelta(minutes=10 * i) + behind
        stored_at = at + timedelta(seconds=draw.randrange(1, 30))
        yield {columns[0]: i, columns[1]: at, "stored_at": stored_at, "amount": draw.randrange(1, 400) / 4}


TABLES: Mapping[str, Callable[[date], list[dict[str, Any]]]] = {
    "clicks": clicks,
    "orders": orders,
    "payments": payments,
}


def make(spark: SparkSession, name: str, folder: Path) -> None:
    """Write the first day of a table, or of `live`: what a live job has written of the clicks, one window wrong."""
    if name == "live":
        live(spark, folder)
    else:
        append(spark, name, folder, FIRST_DAY)


def live(spark: SparkSession, folder: Path) -> None:
    """Write the published results of the clicks as a live job's, with one click more in one window."""
    window_results = spark.read.format("delta").load(str(folder / "lake" / "clicks" / "window_results"))
    wrong = (F.col("country") == "FR") & (F.date_format("window_start", "HH") == "08")
    clicks = F.when(wrong, F.col("clicks") + 1).otherwise(F.col("clicks")).alias("clicks")
    results = window_results.select("country", "window_start", clicks, "amount")
    results.coalesce(1).write.format("delta").save(str(folder / "data" / "live"))


def append(spark: SparkSession, name: str, folder: Path, day: date) -> None:
    """Append one more day to a table."""
    rows = TABLES[name](day)
    spark.createDataFrame(rows).select(*rows[0]).coalesce(1).write.format("delta").mode("append").save(
        str(folder / "data" / name)
    )


def land(spark: SparkSession, rows: Sequence[Mapping[str, str]], path: str) -> None:
    """Write the rows of a page's table: `HH:MM` is a time of 1 May 2024, digits are a number."""
    values = [{name: _value(text) for name, text in row.items()} for row in rows]
    spark.createDataFrame(values).select(*rows[0]).coalesce(1).write.format("delta").save(path)


def _value(text: str) -> int | str | datetime:
    if ":" in text:
        return datetime.combine(FIRST_DAY, time.fromisoformat(text), UTC)
    return int(text) if text.isdigit() else text
