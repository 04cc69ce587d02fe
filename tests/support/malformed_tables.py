"""Malformed tables: sources with values, types and files that a pipeline cannot use, or can use in part; from a seed.

A table has columns `at`, `seen`, `site`, `v`, `id`, of which a fault changes one or more. A fault is one of

    values     a column has the right type, and values that are no times, or are at the end of what tables hold
    types      a column has a type that the pipeline does not declare, or no expression can use
    files      a file of the table is gone or cut short
"""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_FIRST, _ROWS = 1_704_067_200, 24
_GOOD_TIME = "timestamp_seconds({first} + 60 * id + {shift})"
_TEXTS = ("", " ", "N/A", "2024-13-01 00:00:00", "2024-01-01", "01.01.2024 00:14:11", "2024-01-01 00:10:00", "x" * 500)
_NUMBERS = (0.0, -0.0, 1e28, -1e28, 1e300, math.nan, math.inf, -math.inf, 1.5, float(_FIRST))
# Python reads no timestamp before the second day of the year 1.
_TIMESTAMPS = (
    *("TIMESTAMP'0001-01-02 00:00:00'", "TIMESTAMP'9999-12-31 23:59:59.999999'", "TIMESTAMP'1970-01-01 00:00:00'"),
    *("TIMESTAMP'1582-10-10 00:00:00'", "TIMESTAMP'2199-01-01 00:00:00'", "CAST(NULL AS TIMESTAMP)"),
)
_OTHER_TYPES = (
    *("true", "X'00FF'", "array(id)", "map('k', id)", "named_struct('f', id)", "CAST(NULL AS VOID)", "CAST(id AS INT)"),
    *("CAST(id AS STRING)", "DATE'2024-01-01'", "CAST(id AS DOUBLE)", "INTERVAL '1' DAY", "TIMESTAMP_NTZ'2024-01-01'"),
    *("parse_json('{\"a\": 1}')", "CAST(id AS DECIMAL(38, 9))"),
)


@dataclass(frozen=True)
class MalformedTable:
    """A source at `path`, with the settings that read it: `overrides` of `source`."""

    name: str
    path: str
    source: dict[str, Any]


def malformed_table(spark: SparkSession, seed: int, number: int, folder: Path) -> MalformedTable:
    """Write the table number `number` of a seed into `folder`."""
    drawn = random.Random(f"{seed}/{number}")
    fault = drawn.choice(_FAULTS)
    columns = {
        "id": "id",
        "at": _GOOD_TIME.format(first=_FIRST, shift=f"30 * (id % {drawn.randint(1, 7)})"),
        "seen": _GOOD_TIME.format(first=_FIRST, shift="600"),
        "site": "concat('s', id % 3)",
        "v": "CAST(id AS DOUBLE)",
    }
    settings: dict[str, Any] = {}
    break_files = fault(drawn, columns, settings)
    path = folder / f"table_{number}"
    rows = spark.range(_ROWS).selectExpr(*(f"{text} AS {name}" for name, text in columns.items()))
    half = rows.where(f"id < {_ROWS // 2}"), rows.where(f"id >= {_ROWS // 2}")
    for part in half:
        part.coalesce(1).write.format("delta").mode("append").save(str(path))
    for change in break_files:
        change(path)
    return MalformedTable(f"{seed}/{number} {fault.__name__.strip('_')}", str(path), settings)


FileFault = Callable[[Path], object]
Fault = Callable[[random.Random, dict[str, str], dict[str, Any]], Sequence[FileFault]]


def _some(drawn: random.Random, values: Sequence[str], good: str) -> str:
    """Return SQL that gives most rows one of the values, and the rest a good value."""
    chosen = drawn.sample(values, drawn.randint(1, min(4, len(values))))
    every = drawn.choice((1, 2, 5))
    whens = " ".join(f"WHEN {i} THEN {value}" for i, value in enumerate(chosen))
    return f"CASE WHEN id % {every} <> 0 THEN {good} ELSE CASE id % {len(chosen)} {whens} END END"


def _texts(drawn: random.Random, columns: dict[str, str], settings: dict[str, Any]) -> Sequence[FileFault]:
    time = drawn.choice(("at", "seen"))
    good = f"date_format({columns[time]}, 'yyyy-MM-dd HH:mm:ss')"
    columns[time] = _some(drawn, [f"'{text}'" for text in _TEXTS] + ["CAST(NULL AS STRING)"], good)
    declared = {"column": time, "format": drawn.choice(("yyyy-MM-dd HH:mm:ss", "dd.MM.yyyy HH:mm:ss", "yyyy-MM-dd"))}
    settings[_key(time)] = declared if drawn.random() < 0.8 else time
    return ()


def _numbers(drawn: random.Random, columns: dict[str, str], settings: dict[str, Any]) -> Sequence[FileFault]:
    time = drawn.choice(("at", "seen"))
    values = [f"CAST('{value}' AS DOUBLE)" for value in _NUMBERS] + ["CAST(NULL AS DOUBLE)"]
    columns[time] = _some(drawn, values, f"CAST(unix_seconds({columns[time]}) AS DOUBLE)")
    settings[_key(time)] = {"column": time, "unit": drawn.choice(("s", "ms", "us", "ns"))}
    return ()


def _timestamps(drawn: random.Random, columns: dict[str, str], settings: dict[str, Any]) -> Sequence[FileFault]:
    time = drawn.choice(("at", "seen"))
    columns[time] = _some(drawn, _TIMESTAMPS, columns[time])
    settings["future_guard"] = drawn.choice(("1 day", "none", "0s"))
    return ()


def _types(drawn: random.Random, columns: dict[str, str], settings: dict[str, Any]) -> Sequence[FileFault]:
    columns[drawn.choice(("at", "seen", "site", "v"))] = drawn.choice(_OTHER_TYPES)
    settings["where"] = drawn.choice(("v >= 0", "site is not null", "v"))
    return ()


def _missing(drawn: random.Random, columns: dict[str, str], settings: dict[str, Any]) -> Sequence[FileFault]:
    name = drawn.choice(("at", "seen", "site", "v"))
    columns[drawn.choice((f"{name}_", name.upper(), f"x{name}"))] = columns.pop(name)
    settings["tie_break"] = ["id"]
    return ()


def _files(drawn: random.Random, columns: dict[str, str], settings: dict[str, Any]) -> Sequence[FileFault]:
    del columns, settings
    return (drawn.choice((_without_a_data_file, _with_a_short_data_file, _with_a_short_commit, _without_a_log)),)


def _key(column: str) -> str:
    return {"at": "event_time", "seen": "arrival_time"}[column]


def _without_a_data_file(path: Path) -> None:
    _data_file(path).unlink()


def _with_a_short_data_file(path: Path) -> None:
    file = _data_file(path)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    _checksum(file).unlink(missing_ok=True)


def _with_a_short_commit(path: Path) -> None:
    file = path / "_delta_log" / f"{1:020}.json"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    _checksum(file).unlink(missing_ok=True)


def _without_a_log(path: Path) -> None:
    shutil.rmtree(path / "_delta_log")


def _data_file(path: Path) -> Path:
    return min(path.glob("*.parquet"))


def _checksum(file: Path) -> Path:
    return file.parent / f".{file.name}.crc"


_FAULTS: tuple[Fault, ...] = (_texts, _numbers, _timestamps, _types, _missing, _files)
