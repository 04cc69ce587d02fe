"""What a drawing takes of the pipeline file beside it: the parts that are about time, with the drawing's own columns.

    watermark, replay   as written; rows of a punctuated watermark are marked in the column `marker`
    windows             without the key and the aggregates
    join                without the key; the rows of the second input have the side `right`, or the name of the input
    source, sources     the names and watermarks; rows that `where` drops have the value `no` in the column `kept`

The rows of a drawing arrive in the order of their lines, so an order by commit or offset is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spark_jobs.cases.drawing import DrawingError
from spark_jobs.cases.yaml_text import YamlTextError, read_document, values_of
from spark_jobs.pipeline.joins import NAMES
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.spec import Order

Part = dict[str, Any]
_SIDES = tuple(side.value for side in Side)
# Keys whose columns a drawing has not: it has one key, and row numbers as aggregate.
_LEFT_OUT = {"windows": ("key", "aggregates"), "join": ("key", "names", "second_when"), "replay": ()}


def drawn_part(pipeline: Path, settings: Iterable[str]) -> tuple[Part, dict[str, str]]:
    """Return the part of a pipeline file that a drawing needs, and the side of rows by the name of their input.

    `settings` are the keys that the case replaces. Raises DrawingError.
    """
    content, replaced = _content(pipeline), set(settings)
    part: Part = {
        name: {key: value for key, value in content[name].items() if key not in left_out}
        for name, left_out in _LEFT_OUT.items()
        if isinstance(content.get(name), dict)
    }
    _refuse_other_orders(part, replaced)
    watermark, source = content.get("watermark"), content.get("source")
    if isinstance(watermark, dict):
        part["watermark"] = _drawn_watermark(watermark, source, replaced)
    if isinstance(content.get("sources"), list):
        names = [source.get("name") for source in content["sources"] if isinstance(source, dict)]
        sides = _sides(names, is_join="join" in part)
        part["sources"] = [
            _drawn_source(source, sides, replaced) for source in content["sources"] if isinstance(source, dict)
        ]
        return part, sides
    if _drops(source):
        part["source"] = {"where": "kept"}
    if "join" not in part:
        return part, {}
    part["join"]["second_when"] = f"side = '{Side.RIGHT.value}'"
    declared = content["join"].get("names", NAMES)
    return part, _sides(declared if isinstance(declared, list) else NAMES, is_join=True)


def _content(pipeline: Path) -> Part:
    try:
        content = values_of(read_document(pipeline.read_text(encoding="utf-8")), "")
    except (OSError, UnicodeError, YamlTextError) as problem:
        raise DrawingError(f"{pipeline}: {problem}") from problem
    if not isinstance(content, dict):
        raise DrawingError(f"{pipeline}: found {content!r}, expected a mapping")
    return content


def _refuse_other_orders(part: Part, replaced: set[str]) -> None:
    order = part.get("replay", {}).get("order")
    if order in (Order.COMMIT, Order.OFFSET) and not replaced & {"replay", "replay.order"}:
        raise DrawingError(
            f"replay.order: found {order}, and the rows of a drawing have no {order}; write the case with rows, or "
            "set: {replay.order: arrival}"
        )


def _sides(names: Sequence[Any], *, is_join: bool) -> dict[str, str]:
    """Return the side by the name of the input: of a join left and right, of united sources the name."""
    texts = [str(name) for name in names]
    if not is_join:
        return {name: name for name in texts}
    by_name = dict(zip(texts, _SIDES, strict=False))
    return {**by_name, **{side: side for side in _SIDES if side not in by_name}}


def _drawn_source(source: Mapping[str, Any], sides: Mapping[str, str], replaced: set[str]) -> Part:
    name = str(source.get("name"))
    drawn: Part = {"name": sides.get(name, name)}
    if isinstance(source.get("watermark"), dict):
        drawn["watermark"] = _drawn_watermark(source["watermark"], source, replaced)
    return {**drawn, "where": "kept"} if _drops(source) else drawn


def _drops(source: object) -> bool:
    return isinstance(source, dict) and source.get("where") is not None


def _drawn_watermark(watermark: Mapping[str, Any], source: object, replaced: set[str]) -> Part:
    """Return a watermark whose marked rows are those of the drawing, and carry their event time."""
    drawn = dict(watermark)
    if drawn.get("when") is not None:
        drawn["when"] = "marker"
    event_time = source.get("event_time") if isinstance(source, dict) else None
    value = drawn.get("value")
    if value == event_time:
        drawn.pop("value", None)
    elif value is not None and not replaced & {"watermark", "watermark.value"}:
        raise DrawingError(
            f"watermark.value: found {value}, and a marked row of a drawing carries its event time; write the case "
            "with rows, or an expression of ts, such as set: {watermark.value: {column: ts - 3, unit: ms}}"
        )
    return drawn
