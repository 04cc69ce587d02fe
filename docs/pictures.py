"""The pictures of the documentation: small streams, replayed by the reference and drawn as SVG.

    python -m docs.pictures     writes docs/images/*.svg

No verdict in a picture is drawn by hand: rows are the input; watermarks, verdicts and panes are the reference's output.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from docs.drawing import LEFT, NOON, RIGHT, TOP, Picture, legend, minutes, minutes_of_ms
from spark_jobs.pipeline import Pipeline, load
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.events import Event, event_reader
from spark_jobs.semantics.streaming_job import StreamingJob

IMAGES = Path(__file__).parent / "images"
LATE_ROWS = (
    # (arrival, event time), minutes after noon
    *((2, 1), (4, 3), (6, 5.5), (8, 4), (10, 9), (12, 11), (14, 13), (16, 15.5), (18, 8), (20, 19)),
    *((22, 21), (24, 14), (26, 26), (28, 6), (30, 29)),
)
TWO_PARTITIONS = (
    # (arrival, event time, partition)
    *((1, 0.5, "a"), (2, 1, "b"), (4, 3.5, "a"), (5, 3, "b"), (7, 6.5, "a"), (8, 5, "b")),
    *((10, 9.5, "a"), (13, 12.5, "a"), (16, 15.5, "a"), (19, 18.5, "a"), (22, 21.5, "a")),
    *((25, 24.5, "a"), (26, 17, "b"), (28, 27.5, "a"), (29, 24, "b")),
)
SESSION_ROWS = ((1, 0), (4, 3), (11, 10), (14, 13), (16, 6.5), (26, 25))

PIPELINE = """
name: picture
source: {{table: picture, event_time: event, arrival_time: arrival, source_partition: [partition]}}
watermark: {{strategy: bounded_out_of_orderness, out_of_orderness: {bound}, emit: {emit}{idle}}}
windows:
  {windows}
  key: []
  allowed_lateness: {lateness}
  accumulation: {accumulation}
  aggregates: {{members: collect_list(row)}}
"""


def pipeline(
    windows: str = "size: 10 minutes",
    *,
    bound: str = "5 minutes",
    emit: str = "per_event",
    idle: str = "",
    lateness: str = "10 minutes",
    accumulation: str = "accumulating",
) -> Pipeline:
    """Return the pipeline of a picture."""
    text = PIPELINE.format(
        windows=windows, bound=bound, emit=emit, idle=idle, lateness=lateness, accumulation=accumulation
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "picture.yaml"
        file.write_text(text, encoding="utf-8")
        return load(file)


def source_rows(stream: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a stream of (arrival, event time, partition); a row's number is its place, from 1."""
    return [
        {
            "row": number,
            "arrival": NOON + timedelta(minutes=arrival),
            "event": NOON + timedelta(minutes=event),
            "partition": partition[0] if partition else "a",
        }
        for number, (arrival, event, *partition) in enumerate(stream, start=1)
    ]


def advances(rows: Iterable[Mapping[str, Any]], declared: Pipeline) -> list[tuple[float, float]]:
    """Return (arrival, watermark) for each rise of the combined watermark, without the end of the input."""
    reader = event_reader(declared)
    events = [event for row in rows if isinstance(event := reader.read(row), Event)]
    job = StreamingJob(declared)
    job.run(sorted(events, key=lambda event: event.position), None)
    return [
        (minutes_of_ms(advance.clock_us // 1000), minutes_of_ms(advance.watermark))
        for advance in job.calendar.advances
        if advance.partitions is not None
    ]


def arrival() -> str:
    """Draw event time against arrival time: the distance from the diagonal is a row's delay."""
    picture = Picture(320, (0, 32), (0, 32))
    picture.axes(10)
    picture.line("ideal", picture.x(0), picture.y(0), picture.x(32), picture.y(32))
    for came, happened in LATE_ROWS:
        picture.line("delay", picture.x(came), picture.y(came), picture.x(came), picture.y(happened))
        picture.mark("on-time", came, happened)
    picture.text("small end halo", picture.x(23), picture.y(26), "no delay: known when it happens")
    picture.text("small end halo", picture.x(27.4), picture.y(3), "a delay of 22 minutes")
    return picture.svg()


def watermark() -> str:
    """Draw the watermark of the same rows: it follows the newest row at the distance of the bound."""
    picture = Picture(320, (0, 32), (0, 32))
    picture.axes(10)
    picture.steps("watermark step", advances(source_rows(LATE_ROWS), pipeline()))
    for came, happened in LATE_ROWS:
        picture.mark("on-time", came, happened)
    x = picture.x(21)
    picture.line("delay", x, picture.y(19), x, picture.y(14))
    picture.text("small halo", x + 4, picture.y(17.1), "5 min")
    picture.text("small end halo", picture.x(14.5), picture.y(18.5), "newest row so far")
    picture.text("small end halo", picture.x(27.4), picture.y(3), "the watermark never falls")
    return picture.svg()


def _lines(picture: Picture, minute: float, top: float, lines: Sequence[str]) -> None:
    for place, line in enumerate(lines):
        picture.text("small halo", picture.x(minute), picture.y(top) + place * 15, line)


def lateness() -> str:
    """Draw on time, late and too late: where a row's window stands against the watermark before the row."""
    rows = source_rows(LATE_ROWS)
    replayed = reference.replay(rows, pipeline())
    fates = _fates(rows, replayed)
    picture = Picture(356, (0, 32), (0, 32), bottom=80)
    _bands(picture)
    picture.axes(10)
    picture.steps("watermark step", advances(rows, pipeline()))
    for row in rows:
        picture.mark(fates[row["row"]], minutes(row["arrival"]), minutes(row["event"]))
    fires = {minutes(pane["fired_at"]) for pane in replayed.panes if pane["timing"] == "on_time"}
    closes = {minutes(window["closes_at"]) for window in replayed.watermarks}
    last = minutes(rows[-1]["arrival"])
    for moment in sorted(moment for moment in fires | closes if moment < last):
        picture.line("edge", picture.x(moment), picture.y(0), picture.x(moment), picture.y(30))
    _first_window_labels(picture, replayed)
    y = picture.height - 14
    legend(
        picture,
        y,
        (
            ("on-time", 24, "on time"),
            ("late", 104, "late"),
            ("too-late", 164, "too late"),
            ("watermark", 254, "watermark"),
        ),
    )
    return picture.svg()


def _bands(picture: Picture) -> None:
    for start in (0, 10, 20):
        top, low = picture.y(start + 10), picture.y(start)
        if start % 20 == 0:
            picture.add("rect", "band", x=LEFT, y=top, width=RIGHT - LEFT, height=low - top)


def _first_window_labels(picture: Picture, replayed: reference.Replay) -> None:
    first = min(replayed.watermarks, key=lambda window: window["window_start"])
    for column, label in (("fires_at", "12:00 fires"), ("closes_at", "12:00 closes")):
        picture.text("small end halo", picture.x(minutes(first[column])) - 4, picture.y(28.4), label)


def _fates(rows: Sequence[Mapping[str, Any]], replayed: reference.Replay) -> dict[int, str]:
    """Return the fate of each row: a late row is the row that the pane before it lacks."""
    fates = dict.fromkeys((row["row"] for row in rows), "on-time")
    fates.update((late["row"], "too-late") for late in replayed.late_events)
    contents: dict[datetime, set[int]] = {}
    for pane in replayed.panes:
        earlier = contents.get(pane["window_start"], set())
        if pane["timing"] == "late":
            fates.update((number, "late") for number in set(pane["members"]) - earlier)
        contents[pane["window_start"]] = earlier | set(pane["members"])
    return fates


PANE_ROWS = (*LATE_ROWS[:8], (24, 8), (32, 2.5))


def panes() -> str:
    """Draw the panes of one window under the three accumulation modes."""
    picture = Picture(272, (10, 36), bottom=44)
    picture.across(5, picture.height - 44, "arrival time")
    for lane, mode in enumerate(("accumulating", "discarding", "retracting")):
        top = TOP + 10 + lane * 66
        picture.text("bold", 12, top + 4, mode)
        picture.line("grid", 12, top + 58 - 8, RIGHT, top + 58 - 8)
        _lane(picture, top + 12, _panes_of_first_window(mode))
    return picture.svg()


def _panes_of_first_window(mode: str) -> list[dict[str, Any]]:
    replayed = reference.replay(source_rows(PANE_ROWS), pipeline(accumulation=mode))
    return [pane for pane in replayed.panes if pane["window_start"] == NOON]


def _lane(picture: Picture, top: float, fired: Sequence[Mapping[str, Any]]) -> None:
    for pane in fired:
        withdrawn = pane.get("is_retraction", False)
        members = " ".join(str(number) for number in sorted(pane["members"]))
        text = f"\N{MINUS SIGN} {members}" if withdrawn else members
        width = 6.4 * len(text) + 14
        x = picture.x(minutes(pane["fired_at"]))
        role = "too-late" if withdrawn else "late" if pane["timing"] == "late" else "on-time"
        # A withdrawn pane stands above the pane that takes its place.
        y = top + (0 if withdrawn else 18)
        picture.add("rect", f"{role} box", x=x - width / 2, y=y - 5, width=width, height=17, rx=4)
        picture.text("small middle", x, y + 8, text)


def partitions() -> str:
    """Draw the watermark of two source partitions, of which one falls idle, and the combined watermark."""
    idle = pipeline(bound="1 minute", emit="{every: 1 minute}", idle=", idle_timeout: 5 minutes")
    rows = source_rows(TWO_PARTITIONS)
    picture = Picture(340, (0, 32), (0, 32), bottom=64)
    picture.axes(10)
    for partition, css in (("a", "on-time thin"), ("b", "invalid thin")):
        alone = [row for row in rows if row["partition"] == partition]
        picture.steps(css, advances(alone, pipeline(bound="1 minute", emit="{every: 1 minute}")))
    picture.steps("watermark step", advances(rows, idle))
    for row in rows:
        kind = "on-time" if row["partition"] == "a" else "invalid"
        picture.mark(kind, minutes(row["arrival"]), minutes(row["event"]))
    jump = _jump(advances(rows, idle))
    _lines(picture, jump + 0.9, 10.6, ("b is idle:", "follows a", "alone"))
    _lines(picture, 27, 20.9, ("b is back:", "stalls"))
    y = picture.height - 12
    legend(
        picture, y, (("on-time", 24, "partition a"), ("invalid", 124, "partition b"), ("watermark", 232, "combined"))
    )
    return picture.svg()


def _jump(points: Sequence[tuple[float, float]]) -> float:
    rises = [(later[1] - earlier[1], later[0]) for earlier, later in pairwise(points)]
    return max(rises)[1]


def sessions() -> str:
    """Draw session windows: each row brings [ts, ts + gap), windows that touch merge, and a late bridge joins two."""
    declared = pipeline("kind: session\n  gap: 5 minutes", bound="10 minutes", lateness="0s")
    rows = source_rows(SESSION_ROWS)
    replayed = reference.replay(rows, declared)
    picture = Picture(274, (0, 32), bottom=44)
    picture.text("bold", 12, TOP + 6, "rows, in the order of their arrival")
    for place, row in enumerate(rows):
        _bar(picture, minutes(row["event"]), 5, TOP + 20 + place * 20, f"{row['row']}", "on-time")
    top = TOP + 20 + len(rows) * 20 + 14
    picture.text("bold", 12, top, "sessions")
    for pane in replayed.panes:
        start, length = minutes(pane["window_start"]), minutes(pane["window_end"]) - minutes(pane["window_start"])
        members = " ".join(str(number) for number in sorted(pane["members"]))
        _bar(picture, start, length, top + 14, members, "watermark")
    picture.across(10, picture.height - 44, "event time")
    return picture.svg()


def _bar(picture: Picture, start: float, length: float, y: float, text: str, role: str) -> None:
    x, end = picture.x(start), picture.x(start + length)
    picture.add("rect", f"{role} bar", x=x, y=y - 7, width=end - x, height=15, rx=3)
    picture.text("small middle", (x + end) / 2, y + 5, text)


PICTURES: Mapping[str, Callable[[], str]] = {
    "arrival": arrival,
    "watermark": watermark,
    "lateness": lateness,
    "panes": panes,
    "partitions": partitions,
    "sessions": sessions,
}


def main() -> None:
    """Write every picture."""
    IMAGES.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (IMAGES / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
