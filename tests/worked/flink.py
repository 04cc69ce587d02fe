"""Flink's recorded answers as drawings, and drawings as scenarios.

`scenario` makes of a drawing what Flink was run on, `answered` gives the drawing with Flink's answer, `drawn` draws any
recorded scenario. Rows that a condition drops are not in the scenario (watermark behind the condition), or lie under a
separate key whose panes are left out (watermark of the source): Flink filters a stream behind its source.

    drawn(declared, answer)                  a drawing
    plain(scenario(drawn(declared, answer))) == plain(declared)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spark_jobs.cases.drawing import Drawing, Row
from spark_jobs.cases.drawn_replay import pipeline_of
from tests.vectors.recorded import lines
from tests.worked.flink_answer import DROPPED_KEY, steps

ANSWERS = Path(__file__).parents[1] / "vectors" / "flink_drawings.jsonl.gz"

_STRATEGIES = {
    "bounded_out_of_orderness": "bounded",
    "monotonous": "monotonous",
    "punctuated": "punctuated",
    "time_lag": "time_lag",
    "none": "none",
}
_NAMES = {kind: name for name, kind in _STRATEGIES.items()}
Declared = dict[str, Any]


def answers() -> dict[str, tuple[Declared, Declared]]:
    """Give the recorded scenario and Flink's answer of each drawing, by the drawing's name."""
    return {line["id"]: (line["scenario"], line["answer"]) for line in lines(ANSWERS)}


def scenario(drawing: Drawing) -> Declared:
    """Make the scenario that Flink is run on."""
    pipeline = pipeline_of(drawing)
    windows, united = pipeline.windows, pipeline.sources
    first = united[0].watermark if united else pipeline.watermark
    declared: Declared = {
        "id": drawing.name,
        "events": [_event(drawing, drawing.rows[number]) for number in _numbers(drawing)],
        "strategy": _strategy(first),
        "emit": _emission(pipeline.watermark.emit),
        **_partitions([p for source in united or (pipeline,) for p in _declared_of(source)]),
    }
    if first.idle_timeout_ms is not None:
        declared["idle_timeout_ms"] = first.idle_timeout_ms
    if drawing.until is not None:
        declared["end_ms"] = drawing.until
    if pipeline.replay.end_of_input.value == "keep_open":
        declared["end"] = "none"
    if pipeline.join is not None and not pipeline.join.by_window:
        if united:
            declared.pop("partitions", None)
        return {**declared, "join": _interval(pipeline)}
    declared |= {
        "window": _window(windows),
        "allowed_lateness_ms": windows.allowed_lateness_ms,
        "accumulation": windows.accumulation.value,
    }
    if windows.trigger.kind.value != "event_time":
        declared["trigger"] = _trigger(windows.trigger)
    if united:
        declared |= _two_tasks(drawing, pipeline)
    tasks = {row.partition: row.task for row in drawing.rows}
    if any(tasks.values()):
        declared["subtasks"] = {**dict.fromkeys(declared.get("partitions", ()), 0), **tasks}
    return declared


def _numbers(drawing: Drawing) -> list[int]:
    """The rows that reach Flink's watermark, by number."""
    behind = drawing.pipeline.get("watermark", {}).get("placement") == "after_where"
    return [number for number, row in enumerate(drawing.rows) if row.kept or not behind]


def _event(drawing: Drawing, row: Row) -> Declared:
    event: Declared = {"partition": row.partition, "key": row.key if row.kept else DROPPED_KEY, "ts": row.ts}
    event |= {"arrival": row.arrival}
    if row.marker:
        event["marker"] = True
    if "join" in drawing.pipeline:
        event["side"] = row.side
    return event


def _strategy(watermark: Any) -> Declared:
    kind = _STRATEGIES[watermark.strategy.value]
    declared: Declared = {"kind": kind}
    if kind == "bounded":
        declared["out_of_orderness_ms"] = watermark.out_of_orderness_ms
    if kind == "punctuated":
        declared["when"] = watermark.when
        if watermark.value is not None:
            declared["delta_ms"] = int(watermark.value.expression.removeprefix("ts - "))
    if kind == "time_lag":
        declared["lag_ms"] = watermark.lag_ms
    return declared


def _emission(emit: Any) -> Declared:
    if emit.kind.value == "every_n":
        return {"mode": "every_n", "n": emit.n}
    if emit.kind.value == "every":
        return {"mode": "periodic", "interval_ms": emit.interval_ms, "phase_ms": emit.phase_ms}
    return {"mode": "per_event"}


def _partitions(declared: Iterable[tuple[Any, ...]]) -> Declared:
    names = sorted(str(name) for (name,) in declared)
    return {"partitions": names} if names else {"register": "lazy"}


def _window(windows: Any) -> Declared:
    if windows.kind == "session":
        return {"kind": "session", "gap_ms": windows.gap_ms}
    slide = {"slide_ms": windows.slide_ms} if windows.kind == "sliding" else {}
    return {"kind": windows.kind, "size_ms": windows.size_ms, **slide, "offset_ms": windows.offset_ms}


def _trigger(trigger: Any) -> Declared:
    if trigger.kind.value == "count":
        return {"kind": "count", "n": trigger.n}
    return {"kind": "continuous", "interval_ms": trigger.interval_ms}


def _interval(pipeline: Any) -> Declared:
    join, united = pipeline.join, pipeline.sources
    bounds = {
        "lower_ms": join.lower_ms,
        "upper_ms": join.upper_ms,
        "lower_inclusive": join.lower_inclusive,
        "upper_inclusive": join.upper_inclusive,
    }
    kind = {"as_of": join.as_of.value} if join.is_as_of else bounds
    declared: Declared = {**kind, "shared_source": not united}
    if united:
        declared["right_strategy"] = _strategy(united[1].watermark)
        sides = zip(("left", "right"), united, strict=True)
        declared |= {f"{side}_partitions": [str(p) for (p,) in _declared_of(source)] for side, source in sides}
    return declared


def _declared_of(united: Any) -> Iterable[tuple[Any, ...]]:
    declared: Iterable[tuple[Any, ...]] = united.source.source_partition.declared
    return declared


def _two_tasks(drawing: Drawing, pipeline: Any) -> Declared:
    """A window join of two sources is a window over two source tasks, each with its partitions."""
    if pipeline.sources[0].watermark != pipeline.sources[1].watermark:
        raise ValueError(f"{drawing.name}: Flink's answer needs one strategy for both sources of a window join")
    return {"subtasks": {row.partition: int(row.side == "right") for row in drawing.rows}}


def answered(drawing: Drawing, answer: Declared) -> Drawing:
    """Give a drawing with Flink's answer in place of the drawn steps."""
    return replace(drawing, steps=steps(scenario(drawing), answer, _numbers(drawing), drawing))


def drawn(declared: Mapping[str, Any], answer: Mapping[str, Any]) -> Drawing:
    """Draw a recorded scenario, in milliseconds."""
    rows = tuple(_row(event, declared) for event in declared["events"])
    pipeline = _pipeline(declared)
    title = f"Recorded scenario {declared['id']}"
    drawing = Drawing(title, kind(declared), "flink", "ms", pipeline, rows, (), until=declared.get("end_ms"))
    return replace(drawing, steps=steps(declared, answer, range(len(rows)), drawing))


def kind(declared: Mapping[str, Any]) -> str:
    """Name what a recorded scenario is about: interval join, as-of join, co-group, or the kind of its windows."""
    if "join" in declared:
        name = "as-of join" if "as_of" in declared["join"] else "interval join"
        return "co-group" if "window" in declared else name
    return str(declared["window"]["kind"])


def _row(event: Mapping[str, Any], declared: Mapping[str, Any]) -> Row:
    task = declared.get("subtasks", {}).get(event["partition"], 0)
    return Row(
        ts=event["ts"],
        arrival=event["arrival"],
        key=event.get("key", "null"),
        partition=event["partition"],
        side=event.get("side", "left"),
        task=task,
        marker=event.get("marker", False),
    )


def _pipeline(declared: Mapping[str, Any]) -> Declared:
    pipeline: Declared = {}
    join, watermark = declared.get("join"), _watermark(declared, declared["strategy"])
    emit = _emit(declared)
    if join is not None:
        pipeline |= _inputs(declared, join, watermark)
    elif partitions := _declared_partitions(declared):
        pipeline["source"] = {"source_partition": {"columns": ["partition"], "declared": partitions}}
    if "sources" not in pipeline:
        pipeline["watermark"] = {**watermark, "emit": emit}
    else:
        pipeline["watermark"] = {"emit": emit}
    if "window" in declared:
        pipeline["windows"] = _windows(declared)
    return pipeline


def _inputs(declared: Mapping[str, Any], join: Mapping[str, Any], watermark: Declared) -> Declared:
    drawn_join: Declared = {}
    if "as_of" in join:
        drawn_join["as_of"] = join["as_of"]
    if "lower_ms" in join:
        drawn_join["between"] = [_duration(join["lower_ms"]), _duration(join["upper_ms"])]
        exclusive = [end for end in ("lower", "upper") if not join.get(f"{end}_inclusive", True)]
        drawn_join |= {"exclusive": exclusive} if exclusive else {}
    if join.get("shared_source"):
        partitions = _declared_partitions(declared)
        source = {"source_partition": {"columns": ["partition"], "declared": partitions}} if partitions else {}
        shared = {"join": {**drawn_join, "second_when": "side = 'right'"}}
        return {"source": source, **shared} if source else shared
    right = _watermark(declared, join.get("right_strategy", declared["strategy"]))
    sources = [_united(declared, side, mark) for side, mark in (("left", watermark), ("right", right))]
    return {"sources": sources, "join": {**drawn_join, "key": ["key"]}}


def _united(declared: Mapping[str, Any], side: str, watermark: Declared) -> Declared:
    partitions = _declared_partitions(declared, side)
    own = {"source_partition": {"columns": ["partition"], "declared": partitions}} if partitions else {}
    return {"name": side, **own, "watermark": watermark}


def _declared_partitions(declared: Mapping[str, Any], side: str | None = None) -> list[str]:
    if declared.get("register") == "lazy":
        return []
    partitions = {e["partition"] for e in declared["events"] if side is None or e.get("side", "left") == side}
    named = declared.get("partitions", ()) if side is None else declared["join"].get(f"{side}_partitions", ())
    return sorted(partitions.union(named))


def _watermark(declared: Mapping[str, Any], strategy: Mapping[str, Any]) -> Declared:
    watermark: Declared = {"strategy": _NAMES[strategy["kind"]]}
    if strategy["kind"] == "bounded":
        watermark["out_of_orderness"] = _duration(strategy["out_of_orderness_ms"])
    if strategy["kind"] == "punctuated":
        watermark["when"] = strategy["when"]
        if strategy.get("delta_ms"):
            watermark["value"] = {"column": f"ts - {strategy['delta_ms']}", "unit": "ms"}
    if strategy["kind"] == "time_lag":
        watermark["lag"] = _duration(strategy["lag_ms"])
    if "idle_timeout_ms" in declared:
        watermark["idle_timeout"] = _duration(declared["idle_timeout_ms"])
    return watermark


def _emit(declared: Mapping[str, Any]) -> Any:
    emit = declared["emit"]
    if emit["mode"] == "periodic":
        phase = emit.get("phase_ms", 0) % emit["interval_ms"]
        return {"every": _duration(emit["interval_ms"]), **({"phase": _duration(phase)} if phase else {})}
    return {"every_n": emit["n"]} if emit["mode"] == "every_n" else emit["mode"]


def _windows(declared: Mapping[str, Any]) -> Declared:
    window = declared["window"]
    windows: Declared = {"kind": window["kind"]}
    windows |= {name: _duration(window[f"{name}_ms"]) for name in ("size", "slide", "gap") if f"{name}_ms" in window}
    if window.get("offset_ms"):
        windows["offset"] = _duration(window["offset_ms"])
    if declared.get("allowed_lateness_ms"):
        windows["allowed_lateness"] = _duration(declared["allowed_lateness_ms"])
    if declared.get("accumulation", "accumulating") != "accumulating":
        windows["accumulation"] = declared["accumulation"]
    if trigger := declared.get("trigger"):
        name, length = ("count", trigger["n"]) if trigger["kind"] == "count" else ("continuous", trigger["interval_ms"])
        windows["trigger"] = {name: length if name == "count" else _duration(length)}
    return windows


def _duration(ms: int) -> str:
    return f"{ms} ms"


def plain(declared: Mapping[str, Any]) -> Declared:
    """Give what a scenario means: defaults written out, and values left out, which no drawing holds."""
    meaning = {key: value for key, value in declared.items() if key not in ("id", "events", "partitions", "register")}
    sides = ("left", "right") if "join" in declared and not declared["join"].get("shared_source") else (None,)
    emit = dict(declared["emit"])
    if emit["mode"] == "periodic":
        emit["phase_ms"] = emit.get("phase_ms", 0) % emit["interval_ms"]
    meaning |= {
        "events": [_row(event, declared) for event in declared["events"]],
        "partitions": [_declared_partitions(declared, side) for side in sides],
        "emit": emit,
        "strategy": _watermark(declared, declared["strategy"]),
    }
    if "window" in declared:
        meaning["window"] = _windows(declared)
        meaning = {k: v for k, v in meaning.items() if k not in ("allowed_lateness_ms", "accumulation", "trigger")}
    if "join" in declared:
        meaning["join"] = _inputs({**declared, "register": "lazy"}, declared["join"], meaning["strategy"])
        meaning.pop("allowed_lateness_ms", None)
        meaning.pop("accumulation", None)
        meaning.pop("subtasks", None)
    return meaning


def unanswered(drawings: Iterable[Drawing]) -> Iterator[Declared]:
    """Give the scenarios of the drawings whose answer is Flink's."""
    return (scenario(drawing) for drawing in drawings if drawing.answer == "flink")
