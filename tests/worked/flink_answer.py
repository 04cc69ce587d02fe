"""One of Flink's recorded answers as the steps of a drawing: watermarks, panes, groups, pairs and late rows.

An answer numbers the rows that reached Flink, and a drawing numbers all of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from spark_jobs.cases.drawing import Drawing, Step
from spark_jobs.cases.happenings import LATE, MAX, NO_WINDOW, TOO_LATE, Window, fires, groups, pair, versioned
from spark_jobs.cases.story import Place, Story
from tests.vectors.scenarios import Scenario

#: The key of rows that a condition drops behind the watermark of their source. The panes of this key are left out.
DROPPED_KEY = "(dropped)"


def steps(
    declared: Mapping[str, Any], answer: Mapping[str, Any], numbers: Iterable[int], drawing: Drawing
) -> tuple[Step, ...]:
    """Return Flink's answer as the steps of a drawing; `numbers` are the drawing's numbers of the scenario's rows."""
    story = _Answer(declared, answer, list(numbers), drawing)
    story.advance_all()
    story.happen_all()
    return story.steps()


class _Answer(Story):
    """A story from one of Flink's answers."""

    def __init__(
        self, declared: Mapping[str, Any], answer: Mapping[str, Any], numbers: list[int], drawing: Drawing
    ) -> None:
        super().__init__(len(drawing.rows), drawing.unit)
        self._declared, self._answer, self._numbers, self._drawing = declared, answer, numbers, drawing
        self._sides = [row.side for row in drawing.rows]
        self._marks = [mark for mark in answer["watermarks"] if mark["watermark"] == MAX or mark.get("cause") != "end"]

    def advance_all(self) -> None:
        """Note every watermark; the end of the input is not among those of a co-group."""
        for mark in self._marks:
            self.advance(self._place_of(mark), mark["watermark"])
        if "groups" in self._answer:
            self.advance(Place(-1, at_tick=True), MAX)

    def happen_all(self) -> None:
        """Note panes or groups or pairs, and late rows."""
        for pane in self._answer.get("panes", ()):
            if pane["key"] != DROPPED_KEY:
                self._pane(pane)
        for group in self._answer.get("groups", ()):
            self._group(group)
        if "as_of" in self._declared.get("join", {}):
            self._versions()
            return
        for joined_pair in self._answer.get("pairs", ()):
            at = Place(self._number(joined_pair["after_event"]), at_tick=False)
            entry = pair(
                self._number(joined_pair["left"]),
                self._number(joined_pair["right"]),
                joined_pair["timestamp"],
                self._drawing.unit,
            )
            self.happen(at, entry)
        for name in ("late", "late_left", "late_right"):
            for index in self._answer.get(name, ()):
                self._row(index, TOO_LATE)
        for index in set(self._answer.get("unassigned", ())) - set(self._answer.get("late", ())):
            self._row(index, NO_WINDOW)

    def _versions(self) -> None:
        """Note the rows that an as-of join emits. The answer does not name late rows: a watermark before them does."""
        places = {mark["watermark"]: self._place_of(mark) for mark in self._marks if mark["watermark"] != MAX}
        for emitted in self._answer["pairs"]:
            right = emitted.get("right")
            entry = versioned(self._number(emitted["left"]), None if right is None else self._number(right))
            # The end of one input may emit rows a moment before the end of both.
            watermark = emitted["watermark"] if emitted["watermark"] in places else MAX
            self.happen(places.get(watermark, Place(-1, at_tick=True)), entry, watermark)
        for index, event in enumerate(self._declared["events"]):
            before = [mark["watermark"] for mark in self._marks if mark["after_event"] < index]
            if before and event["ts"] <= max(before):
                self._row(index, LATE)

    def _row(self, index: int, happening: Any) -> None:
        number = self._number(index)
        if self._drawing.rows[number].kept:
            self.happen(Place(number, at_tick=False), happening)

    def _pane(self, pane: Mapping[str, Any]) -> None:
        members = [self._number(index) for index in pane["events"]]
        window = Window(pane["key"], pane["start"], pane["end"], pane["pane_index"])
        timing = Scenario(self._declared, self._answer)._timing(pane)
        text = fires(timing, members) if "join" not in self._drawing.pipeline else self._sided(members)
        self.happen(self._fired(pane), window.happens(text, self._drawing.unit), pane["watermark"])

    def _fired(self, pane: Mapping[str, Any]) -> Place:
        if pane["trigger"] == "element":
            return Place(self._number(pane["after_event"]), at_tick=False)
        return next(self._place_of(mark) for mark in self._marks if mark["watermark"] == pane["watermark"])

    def _sided(self, members: Iterable[int]) -> str:
        rows = list(members)
        return groups(*([row for row in rows if self._sides[row] == side] for side in ("left", "right")))

    def _group(self, group: Mapping[str, Any]) -> None:
        window = Window(group["key"], self._start(group), group["timestamp"] + 1)
        happening = window.happens(groups(group["left"], group["right"]), self._drawing.unit)
        place, watermark = self._group_fired(group)
        self.happen(place, happening, watermark)

    def _group_fired(self, group: Mapping[str, Any]) -> tuple[Place, int]:
        """A co-group's answer does not name what fired it: the first watermark at its last instant, or else the row."""
        due = next((mark for mark in self._marks if mark["watermark"] >= group["timestamp"]), None)
        if due is None:
            return Place(-1, at_tick=True), MAX
        if due["after_event"] == group["after_event"]:
            return self._place_of(due), due["watermark"]
        before = [mark for mark in self._marks if mark["after_event"] < group["after_event"]]
        return Place(group["after_event"], at_tick=False), before[-1]["watermark"]

    def _start(self, group: Mapping[str, Any]) -> int | None:
        """A co-group's answer has no start: it follows from the size, or the rows of an accumulating session."""
        if "size_ms" in self._declared["window"]:
            return int(group["timestamp"]) + 1 - int(self._declared["window"]["size_ms"])
        if self._declared.get("accumulation") == "discarding":
            return None
        rows: list[int] = [*group["left"], *group["right"]]
        return min(self._drawing.rows[index].ts for index in rows)

    def _place_of(self, mark: Mapping[str, Any]) -> Place:
        is_tick = self._declared["emit"]["mode"] == "periodic" and self._cause(mark) == "periodic"
        return Place(self._number(mark["after_event"]), is_tick)

    def _cause(self, mark: Mapping[str, Any]) -> str:
        return str(mark.get("cause", "event" if self._declared["strategy"]["kind"] == "punctuated" else "periodic"))

    def _number(self, index: int) -> int:
        return self._numbers[index] if index >= 0 else -1
