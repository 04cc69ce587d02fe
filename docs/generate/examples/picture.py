"""The picture of an example: rows by arrival and event time, the watermark, windows and their firings, or pairs.

The upper edge of a window is the time line of its panes: a triangle at the time of each firing. Windows that overlap
stand as bars on the right. Rows have the number that the page's table gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from docs.drawing import LEFT, RIGHT, WIDTH, Picture, legend, minutes, minutes_of_ms
from docs.generate.examples.answers import LATE, TOO_LATE, Answer, Judged, of_reference
from docs.generate.examples.folder import Example, TableRow
from spark_jobs.pipeline.model import WindowKind

_STEP = 10
_LANE = 14
#: Where the number of a row stands, from the row: the first place that no other number has.
_BESIDE = ((6, -6), (6, 15), (-18, -6), (-18, 15))
#: The signs of firings by the timing of the pane, and what the legend calls them.
_FIRES = {"early": "on-time early fires", "on_time": "on-time fires", "late": "late fires"}
_NAMES = {"early": "fires early", "on_time": "fires", "late": "fires late"}
_SIDES = ("on-time", "invalid")


def number(judged: Judged, place: int) -> str:
    """Return the number of a row in the picture and in the table: its id, or its place from 1."""
    return str(judged.row.get("click_id", place))


def draw(example: Example) -> str:
    """Return the picture of an example as SVG."""
    answer = of_reference(example)
    lanes = _lanes(example, answer.results)
    entries = [*_legend(example, answer)]
    rows = list(_in_rows(entries))
    picture = _empty(example, answer, lanes, legend_rows=len(rows))
    _draw_windows(picture, example, answer.results, lanes)
    if answer.advances:
        points = [(_across(example, clock_us / 1000), minutes_of_ms(at)) for clock_us, at in answer.advances]
        picture.steps("watermark step", points)
    _draw_pairs(picture, example, answer)
    _draw_firings(picture, example, answer.results)
    _draw_rows(picture, example, answer.judged)
    for line, row in enumerate(rows):
        legend(picture, picture.height - 12 - 18 * (len(rows) - 1 - line), row)
    return picture.svg()


def _across(example: Example, clock_ms: float) -> float:
    """Return the place of a clock on the horizontal axis: minutes after noon, or the round of reading."""
    return clock_ms / 1000 if example.pipeline.replay.in_rounds else minutes_of_ms(int(clock_ms))


def _fired_at(example: Example, row: TableRow) -> float:
    return _across(example, row["fired_at"].timestamp() * 1000)


def _empty(example: Example, answer: Answer, lanes: Sequence[Sequence[TableRow]], *, legend_rows: int) -> Picture:
    events = [minutes_of_ms(judged.ts) for judged in answer.judged]
    ends = [minutes(row[name]) for row in answer.results for name in ("window_start", "window_end") if name in row]
    clocks = [_across(example, judged.clock_us / 1000) for judged in answer.judged]
    in_rounds = example.pipeline.replay.in_rounds
    xs = (0, max(clocks) + 1) if in_rounds else (_down(min(clocks)), max(clocks) + 2)
    picture = Picture(
        300 + 18 * legend_rows,
        xs,
        (_down(min(events + ends)), -_down(-max(events + ends))),
        bottom=52 + 18 * legend_rows,
        right=RIGHT - (_LANE * len(lanes) + 6 if lanes else 0),
    )
    if in_rounds:
        picture.label = lambda round_number: f"{round_number:g}"
    return picture


def _down(minute: float) -> int:
    return int(minute // _STEP) * _STEP


def _lanes(example: Example, results: Sequence[TableRow]) -> list[list[TableRow]]:
    """Return the windows that need bars, in lanes without overlaps; windows one after the other need none."""
    if example.pipeline.windows.kind in {WindowKind.TUMBLING, WindowKind.NONE}:
        return []
    by_key = example.pipeline.windows.kind is WindowKind.SESSION and example.pipeline.join is None
    key = example.pipeline.windows.key if by_key else ()
    lanes: list[list[TableRow]] = []
    for window in sorted(_distinct(results, (*key, "window_start", "window_end")), key=lambda row: row["window_start"]):
        free = (lane for lane in lanes if lane[-1]["window_end"] <= window["window_start"])
        lane = next((lane for lane in free if all(lane[-1][name] == window[name] for name in key)), None)
        if lane is None:
            lanes.append(lane := [])
        lane.append(window)
    return lanes


def _distinct(rows: Iterable[TableRow], names: Sequence[str]) -> list[TableRow]:
    return list({tuple(row[name] for name in names): row for row in rows}.values())


def _draw_windows(
    picture: Picture, example: Example, results: Sequence[TableRow], lanes: Sequence[Sequence[TableRow]]
) -> None:
    if example.pipeline.windows.kind is WindowKind.TUMBLING:
        for place, row in enumerate(sorted(_distinct(results, ("window_start",)), key=lambda row: row["window_start"])):
            if place % 2 == 0:
                top, low = picture.y(minutes(row["window_end"])), picture.y(minutes(row["window_start"]))
                picture.add("rect", "band", x=LEFT, y=top, width=picture.right - LEFT, height=low - top)
    if example.pipeline.replay.in_rounds:
        picture.axes(_STEP, across="round of reading", across_step=1)
    else:
        picture.axes(_STEP)
    _draw_lanes(picture, lanes)


def _draw_lanes(picture: Picture, lanes: Sequence[Sequence[TableRow]]) -> None:
    for place, lane in enumerate(lanes):
        x = picture.right + 8 + place * _LANE
        for window in lane:
            top, low = picture.y(minutes(window["window_end"])), picture.y(minutes(window["window_start"]))
            picture.add("rect", "watermark bar", x=x, y=top + 1, width=_LANE - 4, height=low - top - 2, rx=3)


def _draw_firings(picture: Picture, example: Example, results: Sequence[TableRow]) -> None:
    if example.pipeline.windows.kind is WindowKind.NONE:
        return
    for row in _distinct(results, ("window_end", "fired_at", "timing")):
        picture.sign(_FIRES[row["timing"]], picture.x(_fired_at(example, row)), picture.y(minutes(row["window_end"])))


def _draw_rows(picture: Picture, example: Example, judged: Sequence[Judged]) -> None:
    places: list[tuple[float, float]] = []
    for place, row in enumerate(judged, start=1):
        x, y = picture.x(_across(example, row.clock_us / 1000)), picture.y(minutes_of_ms(row.ts))
        if example.pipeline.replay.in_rounds:
            # Rows of one round have one clock: they stand side by side, in the order of reading.
            x += 9 * sum(other.clock_us == row.clock_us for other in judged[: place - 1])
        picture.sign(_kind(row), x, y)
        across, up = next((free for free in _BESIDE if _is_free(x + free[0], y + free[1], places)), _BESIDE[0])
        places.append((x + across, y + up))
        picture.text("small halo", x + across, y + up, number(row, place))


def _is_free(x: float, y: float, places: Iterable[tuple[float, float]]) -> bool:
    return all(abs(x - other_x) > 14 or abs(y - other_y) > 11 for other_x, other_y in places)


def _kind(judged: Judged) -> str:
    fates = {LATE: "late", TOO_LATE: "too-late", "filtered": "invalid"}
    return fates.get(judged.outcome, _SIDES[judged.side])


def _draw_pairs(picture: Picture, example: Example, answer: Answer) -> None:
    for left, right in _pairs(example, answer):
        places = [(_across(example, row.clock_us / 1000), minutes_of_ms(row.ts)) for row in (left, right)]
        (x1, y1), (x2, y2) = ((picture.x(x), picture.y(y)) for x, y in places)
        picture.line("delay", x1, y1, x2, y2)


def _pairs(example: Example, answer: Answer) -> Iterator[tuple[Judged, Judged]]:
    if example.pipeline.join is None:
        return
    names = list(example.inputs)
    for result in _distinct(answer.results, [name for name in answer.results[0] if "." in name]):
        left, right = (
            next((row for row in answer.judged if row.side == side and _is_part(row.row, names[side], result)), None)
            for side in (0, 1)
        )
        # A left outer as-of join has results without a second row.
        if left is not None and right is not None:
            yield left, right


def _is_part(row: Mapping[str, Any], name: str, result: TableRow) -> bool:
    columns = [column for column in result if column.startswith(f"{name}.")]
    return all(row[column.removeprefix(f"{name}.")] == result[column] for column in columns)


def _legend(example: Example, answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield the kind of each sign of the picture and its meaning."""
    kinds = dict.fromkeys(_kind(judged) for judged in answer.judged)
    names = list(example.inputs) if example.pipeline.join else [united.name for united in example.pipeline.sources]
    if names:
        yield from ((_SIDES[side], name) for side, name in enumerate(names))
    else:
        yield from (
            (kind, meaning) for kind, meaning in (("on-time", "on time"), ("invalid", "filtered")) if kind in kinds
        )
    yield from ((kind, meaning) for kind, meaning in (("late", LATE), ("too-late", TOO_LATE)) if kind in kinds)
    if answer.advances:
        yield "watermark", "watermark"
    timings = {row["timing"] for row in answer.results if "timing" in row}
    yield from ((_FIRES[timing], name) for timing, name in _NAMES.items() if timing in timings)
    if example.pipeline.join:
        yield "delay", "a pair"


def _in_rows(entries: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, float, str]]]:
    """Yield the legend line by line: as many signs as are room for, each with its place across."""
    row: list[tuple[str, float, str]] = []
    x = 16.0
    for kind, meaning in entries:
        width = 36 + 6.4 * len(meaning)
        if row and x + width > WIDTH + 10:
            yield row
            row, x = [], 16.0
        row.append((kind, x, meaning))
        x += width
    yield row
