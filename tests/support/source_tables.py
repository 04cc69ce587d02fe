"""Six source tables as users have them: seeded, small, and each with times in another form.

- sensors: text with mixed offsets around a change of clocks, column mapping, names with blanks
- clicks: epochs in structs, in seconds and in milliseconds, with duplicates and a deletion vector
- orders: DATE, TIMESTAMP_NTZ and text with junk, decimals, null keys, null times, the year 2199
- meters: all columns are text: days first without a zone, epoch milliseconds, weeks, decimals with a comma
- heartbeats: a single time in seconds with a fraction, `partition` and `offset` of a broker
- shipments: many TIMESTAMPs in structs, camelCase, and times in an array of structs
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.support.engine import frame_of

COMMITS = 4
START = datetime(2024, 3, 30, 12, tzinfo=UTC)
_INSTANT, _TEXT, _LONG = pa.timestamp("us", tz="UTC"), pa.string(), pa.int64()
Rows = list[dict[str, Any]]


def sensors(spark: SparkSession, path: Path, count: int = 3_000, seed: int = 1) -> str:
    """Readings over two days, in which Berlin's clocks change: the offset of a text is +01:00, +02:00 or Z."""
    draw, berlin = random.Random(seed), ZoneInfo("Europe/Berlin")
    rows: Rows = []
    for arrived in _arrivals(count, draw, timedelta(days=2)):
        happened = arrived - _delay(draw)
        text = happened.astimezone(draw.choice([berlin, UTC])).isoformat(timespec="seconds").replace("+00:00", "Z")
        rows.append(
            {
                "Gerät Nr": f"device-{draw.randrange(40):02}",
                "event time": _broken(draw, text, ["N/A", "", "2024-03-31 02:30:00", None]),
                "payload": {"temp": draw.randrange(-80, 300) / 10, "unit": "C"},
                "arrived_at": arrived,
                "site": draw.choice(["north", "south", "east", "west"]),
            }
        )
    payload = pa.struct([("temp", pa.float64()), ("unit", _TEXT)])
    schema = [
        ("Gerät Nr", _TEXT),
        ("event time", _TEXT),
        ("payload", payload),
        ("arrived_at", _INSTANT),
        ("site", _TEXT),
    ]
    return _land(spark, path, rows, schema, options={"delta.columnMapping.mode": "name"}, partition="site")


def clicks(spark: SparkSession, path: Path, count: int = 4_000, seed: int = 2) -> str:
    """Clicks of a broker: every fifth is a duplicate, and some rows are deleted by a deletion vector."""
    draw = random.Random(seed)
    rows: Rows = []
    for n, arrived in enumerate(_arrivals(count, draw, timedelta(days=3))):
        user = f"u{draw.randrange(900)}"
        payload = {"ts": _epoch(arrived - _delay(draw)), "page": f"/page/{draw.randrange(12)}", "user": user}
        meta = {"region": draw.choice(["eu", "us", "asia"]), "received_ms": _epoch(arrived, 1_000)}
        rows.append({"click_id": f"c{n}", "payload": payload, "meta": meta, "tags": ["a", "b"]})
        if n % 50 == 0:
            rows.append(rows[-1])
    payload_type = pa.struct([("ts", _LONG), ("page", _TEXT), ("user", _TEXT)])
    meta_type = pa.struct([("region", _TEXT), ("received_ms", _LONG)])
    schema = [("click_id", _TEXT), ("payload", payload_type), ("meta", meta_type), ("tags", pa.list_(_TEXT))]
    table = _land(spark, path, rows, schema, options={"delta.enableDeletionVectors": "true"})
    DeltaTable.forPath(spark, table).delete("payload.user = 'u7'")
    return table


def orders(spark: SparkSession, path: Path, count: int = 3_000, seed: int = 3) -> str:
    """Orders with the day, the local time and a text of each: some are null, and some are of the year 2199."""
    draw = random.Random(seed)
    rows: Rows = []
    for n, loaded in enumerate(_arrivals(count, draw, timedelta(days=60))):
        ordered = loaded - _delay(draw) - timedelta(hours=draw.randrange(3))
        if draw.random() < 0.005:
            ordered = ordered.replace(year=2199)
        has_time = draw.random() >= 0.01
        rows.append(
            {
                "order_id": 10_000 + n,
                "order_day": ordered.date() if has_time else None,
                "ordered_at": ordered.replace(microsecond=0) if has_time else None,
                "ordered_text": _broken(draw, f"{ordered:%d.%m.%Y %H:%M:%S}", ["unknown", "31.02.2024 10:00:00", ""]),
                "currency": draw.choice(["EUR", "USD", "CHF", None]),
                "customer": f"customer {draw.randrange(800)}",
                "amount": Decimal(draw.randrange(100, 99_999)) / 100,
                "loaded_at": loaded,
            }
        )
    schema = [
        *(("order_id", _LONG), ("order_day", pa.date32()), ("ordered_at", _INSTANT), ("ordered_text", _TEXT)),
        *(("currency", _TEXT), ("customer", _TEXT), ("amount", pa.decimal128(12, 2)), ("loaded_at", _INSTANT)),
    ]

    def local(frame: DataFrame) -> DataFrame:
        return frame.withColumn("ordered_at", F.col("ordered_at").cast("timestamp_ntz"))

    return _land(spark, path, rows, schema, change=local)


def meters(spark: SparkSession, path: Path, count: int = 3_000, seed: int = 4) -> str:
    """Readings of a CSV file: all columns are text, with days first, no zone, and decimals with a comma."""
    draw = random.Random(seed)
    rows: Rows = []
    for received in _arrivals(count, draw, timedelta(days=40)):
        measured = received - _delay(draw)
        rows.append(
            {
                "measured": _broken(draw, f"{measured:%d/%m/%Y %H:%M}", ["31/02/2024 10:00", "-"]),
                "week": f"{measured:%G-W%V-%u}",
                "value": f"{draw.randrange(100, 9_999) / 10:.1f}".replace(".", ","),
                "meter": f"M{draw.randrange(25):03}",
                "received_at": str(_epoch(received, 1_000)),
            }
        )
    return _land(spark, path, rows, [(name, _TEXT) for name in rows[0]])


def heartbeats(spark: SparkSession, path: Path, count: int = 3_000, seed: int = 5) -> str:
    """Heartbeats with a single time, in seconds with a fraction, as a broker stored them."""
    draw = random.Random(seed)
    rows: Rows = [
        {
            "ts": moment.timestamp(),
            "host": f"host-{draw.randrange(30)}",
            "partition": draw.randrange(3),
            "offset": n,
            "payload": {"cpu": draw.random(), "status": draw.choice(["up", "down"])},
        }
        for n, moment in enumerate(_arrivals(count, draw, timedelta(hours=5)))
    ]
    payload = pa.struct([("cpu", pa.float64()), ("status", _TEXT)])
    schema = [("ts", pa.float64()), ("host", _TEXT), ("partition", pa.int32()), ("offset", _LONG), ("payload", payload)]
    return _land(spark, path, rows, schema)


_PHASES = ("planned", "picked", "packed", "labelled", "shipped", "customs", "hub", "outForDelivery", "signed", "billed")


def shipments(spark: SparkSession, path: Path, count: int = 3_000, seed: int = 6) -> str:
    """Shipments with a TIMESTAMP for each phase, the scan of a parcel, its load, and scans in an array."""
    draw = random.Random(seed)
    rows: Rows = []
    for n, loaded in enumerate(_arrivals(count, draw, timedelta(days=20))):
        scanned = loaded - _delay(draw)
        phases = {f"{phase}At": scanned + timedelta(hours=draw.randrange(-90, 90)) for phase in _PHASES}
        rows.append(
            {
                "shipmentId": f"s{n}",
                "scanInfo": {"eventTime": scanned, "depot": {"code": f"D{draw.randrange(8)}"}},
                "phases": phases,
                "audit": {"ingestedAt": loaded},
                "scans": [{"scanTime": scanned, "by": "x"}],
            }
        )
    scan = pa.struct([("eventTime", _INSTANT), ("depot", pa.struct([("code", _TEXT)]))])
    schema = [
        ("shipmentId", _TEXT),
        ("scanInfo", scan),
        ("phases", pa.struct([(f"{phase}At", _INSTANT) for phase in _PHASES])),
        ("audit", pa.struct([("ingestedAt", _INSTANT)])),
        ("scans", pa.list_(pa.struct([("scanTime", _INSTANT), ("by", _TEXT)]))),
    ]
    return _land(spark, path, rows, schema)


#: Each table by its name.
TABLES: dict[str, Callable[[SparkSession, Path], str]] = {
    maker.__name__: maker for maker in (sensors, clicks, orders, meters, heartbeats, shipments)
}


def _arrivals(count: int, draw: random.Random, span: timedelta) -> Iterator[datetime]:
    step = span / count
    for n in range(count):
        yield START + n * step + timedelta(milliseconds=draw.randrange(max(1, int(step / timedelta(milliseconds=2)))))


def _delay(draw: random.Random) -> timedelta:
    return timedelta(seconds=draw.choice([1, 2, 5, 9, 40, 200, 900] if draw.random() < 0.98 else [3_000, 9_000]))


def _broken(draw: random.Random, text: str, junk: Sequence[str | None]) -> str | None:
    return draw.choice(junk) if draw.random() < 0.01 else text


def _epoch(moment: datetime, per_second: int = 1) -> int:
    return int(moment.timestamp() * per_second)


def _land(
    spark: SparkSession,
    path: Path,
    rows: Rows,
    schema: Sequence[tuple[str, pa.DataType]],
    *,
    options: dict[str, str] | None = None,
    partition: str = "",
    change: Callable[[DataFrame], DataFrame] = lambda frame: frame,
) -> str:
    each = -(-len(rows) // COMMITS)
    for first in range(0, len(rows), each):
        frame = change(frame_of(spark, rows[first : first + each], pa.schema(schema))).coalesce(1)
        writer = frame.write.format("delta").mode("append").options(**(options or {}))
        (writer.partitionBy(partition) if partition else writer).save(str(path))
    return str(path)
