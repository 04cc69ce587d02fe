"""A drawing is a worked example as text; `assert_happens` replays its rows and compares line by line.

An engine takes rows and a pipeline and gives the tables as lists of dicts, timestamps aware.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from spark_jobs.pipeline.model import (
    Aggregate,
    Emit,
    EmitKind,
    Pipeline,
    Source,
    SourcePartition,
    Strategy,
    TimeField,
    Watermark,
    Windows,
)
from spark_jobs.semantics.rows.instants import END_OF_INPUT

Engine = Callable[[Iterable[dict[str, Any]], Pipeline], Any]
Line = tuple[str, str, str]

SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)
PER_EVENT = Emit(EmitKind.PER_EVENT)
EVERY_HOUR = Emit(EmitKind.EVERY, interval_ms=3_600_000)
NOON = datetime(2016, 4, 27, 12, tzinfo=UTC)
LONG_AGO = NOON - timedelta(days=365)


def assert_happens(
    engine: Engine,
    drawing: str,
    *,
    size: float,
    bound: float | None = None,
    allowed_lateness: float = 0,
    emit: Emit = PER_EVENT,
    unit: timedelta = SECOND,
    declared: tuple[str, ...] = (),
    watermark: Watermark | None = None,
) -> None:
    """Replay the rows of a drawing and compare what happens with it, line by line.

    No bound: monotonous; a `watermark` stands for all of bound and emit. Rows arrive a millisecond apart.
    """
    header, *drawn = parsed(drawing)
    names = header[0].split()
    rows = [row(dict(zip(names, line[0].split(), strict=True)), unit) for line in drawn if line[0] and line[0] != "end"]
    pipeline = Pipeline(
        name="worked_example",
        source=Source(
            table="drawing",
            event_time=TimeField("time"),
            arrival_time=TimeField("arrival"),
            source_partition=SourcePartition(("partition",), tuple((name,) for name in declared)),
        ),
        watermark=watermark
        or Watermark(
            strategy=Strategy.MONOTONOUS if bound is None else Strategy.BOUNDED_OUT_OF_ORDERNESS,
            out_of_orderness_ms=millis((bound or 0) * unit),
            emit=emit,
        ),
        windows=Windows(
            size_ms=millis(size * unit),
            key=("key",) if "key" in names else (),
            allowed_lateness_ms=millis(allowed_lateness * unit),
            aggregates=(Aggregate("members", "collect_list(row)"),),
        ),
    )
    told = story(engine(rows, pipeline), rows, watermarks(engine, rows, pipeline, unit), unit)
    assert told == [line[1:] for line in drawn]


def parsed(drawing: str) -> list[Line]:
    cells = [[cell.strip() for cell in line.split("|")] for line in drawing.strip().splitlines()]
    return [(left, watermark, happens) for left, watermark, happens in cells]


def row(drawn: dict[str, str], unit: timedelta) -> dict[str, Any]:
    number = int(drawn["row"])
    return {
        "row": number,
        "key": drawn.get("key"),
        "partition": drawn.get("partition"),
        "mark": drawn.get("mark") == "yes",
        "time": NOON + float(drawn["time"]) * unit,
        "arrival": NOON + number * MILLISECOND,
    }


def watermarks(engine: Engine, rows: list[dict[str, Any]], pipeline: Pipeline, unit: timedelta) -> list[str]:
    """The watermark after each row, as the engine wrote it down for a witness.

    A witness is a row of long ago in the same partition, right behind the row: it moves nothing and is too late as soon
    as there is a watermark; late rows are kept with the watermark that they met.
    """
    behind = timedelta(microseconds=1)
    witnesses = [{**r, "row": -1 - r["row"], "time": LONG_AGO, "arrival": r["arrival"] + behind} for r in rows]
    strict = replace(pipeline, windows=replace(pipeline.windows, allowed_lateness_ms=0))
    met = {late["row"]: late["watermark"] for late in engine([*rows, *witnesses], strict).late_events}
    return [shown(met[w["row"]], unit) if w["row"] in met else "-" for w in witnesses]


def story(outcome: Any, rows: list[dict[str, Any]], after: list[str], unit: timedelta) -> list[tuple[str, str]]:
    """What the engine says, as the right half of a drawing."""
    too_late = {late["row"] for late in outcome.late_events}
    at_end = [pane for pane in outcome.panes if pane["watermark"] == END_OF_INPUT]
    told: list[tuple[str, str]] = []
    for r, watermark in zip(rows, after, strict=True):
        fired = [pane for pane in outcome.panes if pane not in at_end and pane["fired_at"] == r["arrival"]]
        told += lines(watermark, ["too late"] if r["row"] in too_late else [pane_text(pane, unit) for pane in fired])
    at_end.sort(key=lambda pane: (pane["window_start"], pane.get("key", "")))
    return told + lines("max", [pane_text(pane, unit) for pane in at_end])


def lines(watermark: str, happens: list[str]) -> list[tuple[str, str]]:
    first, *others = happens or [""]
    return [(watermark, first), *(("", text) for text in others)]


def pane_text(pane: Any, unit: timedelta) -> str:
    window = f"[{shown(pane['window_start'], unit)}, {shown(pane['window_end'], unit)})"
    fires = "fires late" if pane["timing"] == "late" else "fires"
    members = " ".join(str(member) for member in sorted(pane["members"]))
    return f"{pane.get('key', '')} {window} {fires} with {members}".strip()


def shown(moment: datetime, unit: timedelta) -> str:
    return f"{(moment - NOON) / unit:.10g}"


def millis(duration: timedelta) -> int:
    return duration // MILLISECOND
