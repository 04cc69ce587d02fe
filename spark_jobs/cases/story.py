"""A story is what happened in a replay, put together as the steps of a drawing, in whatever order it is found.

A place is the number of the last row that had arrived, -1 before the first. What happens at a place happens with that
row, or at a tick behind it; ticks of one place differ by their watermark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from spark_jobs.cases.drawing import Step
from spark_jobs.cases.happenings import LATE, MAX, MIN, TOO_LATE, Happening, instant_text

_END = (-1, MAX)


class Place(NamedTuple):
    """Where something happens: with the row of this number, or at a tick behind it."""

    row: int
    at_tick: bool


class Story:
    """What happened, step by step."""

    def __init__(self, rows: int, unit: str) -> None:
        self._rows, self._unit = rows, unit
        self._reached: dict[int, int] = {}
        self._ticks: defaultdict[int, set[int]] = defaultdict(set)
        self._happens: defaultdict[tuple[int, int | None], list[tuple[Happening, int | None]]] = defaultdict(list)
        self._has_end = False

    def advance(self, place: Place, watermark: int) -> None:
        """Note that the watermark reached a value."""
        if watermark == MAX:
            self._has_end = True
        elif place.at_tick:
            self._ticks[place.row].add(watermark)
        else:
            self._reached[place.row] = watermark

    def happen(self, place: Place, happening: Happening, watermark: int | None = None) -> None:
        """Note an entry; `watermark` is the one that the answer gives with it, None if it gives none."""
        if watermark == MAX:
            self._happens[_END].append((happening, None))
        elif place.at_tick:
            at = MIN if watermark is None else watermark
            self._ticks[place.row].add(at)
            self._happens[place.row, at].append((happening, None))
        else:
            self._happens[place.row, None].append((happening, watermark))

    def at_end(self, happening: Happening) -> None:
        """Note an entry of the end of the input."""
        self._happens[_END].append((happening, None))

    def steps(self) -> tuple[Step, ...]:
        """Give the steps in order, the entries of each sorted."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[Step]:
        watermark = MIN
        for row in range(-1, self._rows):
            if row >= 0:
                before, watermark = watermark, self._reached.get(row, watermark)
                yield Step("row", watermark, self._texts((row, None), before, watermark))
            for tick in sorted(self._ticks[row]):
                watermark = tick
                yield Step("tick", watermark, self._texts((row, tick), tick, tick))
        yield Step("end", MAX if self._has_end else watermark, self._texts(_END, MAX, MAX))

    def _texts(self, at: tuple[int, int | None], before: int, after: int) -> tuple[str, ...]:
        return tuple(
            self._text(happening, met, before, after)
            for happening, met in sorted(self._happens[at], key=lambda pair: pair[0])
        )

    def _text(self, happening: Happening, met: int | None, before: int, after: int) -> str:
        """An entry, with the watermark that came with it where that is none of its step."""
        if met is None or met == before or (before <= met <= after and happening not in (TOO_LATE, LATE)):
            return happening.text
        return f"{happening.text} at watermark {instant_text(met, self._unit)}"


def steps_like(steps: Iterable[Step], watermarks: Mapping[int, int]) -> Iterator[tuple[Place, int]]:
    """Give the advances of steps, with `watermarks`, by row, in place of the drawn ones behind these rows."""
    row = -1
    for step in steps:
        row += step.kind == "row"
        if step.kind == "end":
            if step.watermark == MAX:
                yield Place(row, at_tick=True), MAX
            return
        at_tick = step.kind == "tick"
        yield Place(row, at_tick), step.watermark if at_tick else watermarks.get(row, step.watermark)
