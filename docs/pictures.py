"""The pictures of the documentation: small streams, replayed by the reference and drawn as SVG.

    python docs/pictures.py     writes docs/images/*.svg

No verdict in a picture is drawn by hand: rows are the input; watermarks, verdicts and panes are the reference's output.
A picture has no fixed size; its text is readable at the width of a phone. Colours are variables that a page can set,
with the values of the report's palette. Alone, a picture follows the reader's light or dark mode.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from spark_jobs.pipeline import Pipeline, load
from spark_jobs.report.palette import PALETTE
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.events import Event, event_reader
from spark_jobs.semantics.streaming_job import StreamingJob

IMAGES = Path(__file__).parent / "images"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MINUTE_MS = 60_000
NOON_MS = int(NOON.timestamp() * 1000)
# Units of a drawing; at the width of a phone a unit is about 0.85 pixels.
WIDTH = 400
LEFT, RIGHT, TOP, BOTTOM = 50, 388, 14, 44

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


def minutes(moment: datetime) -> float:
    """Return the minutes after noon."""
    return (moment - NOON) / timedelta(minutes=1)


def minutes_of_ms(instant: int) -> float:
    """Return the minutes after noon for milliseconds since 1970."""
    return (instant - NOON_MS) / MINUTE_MS


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


def clock(minute: float) -> str:
    """Return a minute after noon as a clock shows it."""
    return f"{NOON + timedelta(minutes=minute):%H:%M}"


@dataclass
class Picture:
    """An SVG under construction: `x` and `y` turn minutes after noon into units."""

    height: float
    xs: tuple[float, float]
    ys: tuple[float, float] = (0, 0)
    bottom: float = BOTTOM
    right: float = RIGHT
    label: Callable[[float], str] = clock
    parts: list[str] = field(default_factory=list)

    def x(self, minute: float) -> float:
        """Return the place of a minute on the horizontal axis."""
        low, high = self.xs
        return LEFT + (minute - low) / (high - low) * (self.right - LEFT)

    def y(self, minute: float) -> float:
        """Return the place of a minute on the vertical axis, which points up."""
        low, high = self.ys
        return self.height - self.bottom - (minute - low) / (high - low) * (self.height - self.bottom - TOP)

    def add(self, tag: str, css: str, text: str | None = None, **attributes: Any) -> None:
        """Add an element; numbers are rounded to a tenth of a unit."""
        assigned = " ".join(f'{name.replace("_", "-")}="{_number(value)}"' for name, value in attributes.items())
        end = "/>" if text is None else f">{escape(text)}</{tag}>"
        self.parts.append(f'<{tag} class="{css}" {assigned}{end}')

    def line(self, css: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """Add a straight line between two places in units."""
        self.add("line", css, x1=x1, y1=y1, x2=x2, y2=y2)

    def text(self, css: str, x: float, y: float, text: str) -> None:
        """Add text at a place in units."""
        self.add("text", css, text, x=x, y=y)

    def path(self, css: str, points: Sequence[tuple[float, float]]) -> None:
        """Add a line through places in units."""
        places = " L".join(f"{_number(x)} {_number(y)}" for x, y in points)
        self.add("path", css, d=f"M{places}")

    def axes(self, step: int, *, across: str = "arrival time", up: str = "event time", across_step: int = 0) -> None:
        """Draw the grid and both axes, with a label every `step` minutes; across, every `across_step` if given."""
        floor = self.height - self.bottom
        for minute in range(int(self.ys[0]), int(self.ys[1]) + 1, step):
            self.line("grid", LEFT, self.y(minute), self.right, self.y(minute))
            self.text("tick end", LEFT - 6, self.y(minute) + 4, clock(minute))
        self.text("axis-name", LEFT + 5, TOP + 9, f"\N{UPWARDS ARROW} {up}")
        self.across(across_step or step, floor, across)
        self.line("axis", LEFT, TOP, LEFT, floor)

    def across(self, step: int, floor: float, name: str) -> None:
        """Draw the horizontal axis."""
        self.line("axis", LEFT, floor, self.right, floor)
        for minute in range(int(self.xs[0]), int(self.xs[1]) + 1, step):
            self.line("axis", self.x(minute), floor, self.x(minute), floor + 4)
            self.text("tick middle", self.x(minute), floor + 18, self.label(minute))
        self.text("axis-name end", self.right, floor + 36, f"{name} \N{RIGHTWARDS ARROW}")

    def steps(self, css: str, points: Sequence[tuple[float, float]]) -> None:
        """Draw a line that rises at each point and stays until the next, from the lower edge on."""
        low = self.ys[0]
        places, height = [(self.x(points[0][0]), self.y(low))], low
        for across, up in points:
            places += [(self.x(across), self.y(max(height, low))), (self.x(across), self.y(max(up, low)))]
            height = up
        places.append((self.x(self.xs[1]), self.y(max(height, low))))
        self.path(css, places)

    def mark(self, kind: str, arrival: float, event: float) -> None:
        """Draw a row at its times."""
        self.sign(kind, self.x(arrival), self.y(event))

    def sign(self, kind: str, x: float, y: float) -> None:
        """Draw the sign of a row, or of a firing: a triangle.

        A row is a circle, a diamond if it is late, a cross if it is too late.
        """
        if kind == "late":
            self.path("late mark", [(x, y - 6.5), (x + 6.5, y), (x, y + 6.5), (x - 6.5, y), (x, y - 6.5)])
        elif kind == "too-late":
            self.path("too-late cross", [(x - 5, y - 5), (x + 5, y + 5)])
            self.path("too-late cross", [(x - 5, y + 5), (x + 5, y - 5)])
        elif "fires" in kind:
            self.path(f"{kind} pane", [(x, y - 6), (x + 5.5, y + 4), (x - 5.5, y + 4), (x, y - 6)])
        else:
            self.add("circle", f"{kind} mark", cx=x, cy=y, r=4.5)

    def svg(self) -> str:
        """Return the file's text."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" class="tm" viewBox="0 0 {WIDTH} {_number(self.height)}">'
        return "\n".join([head, f"<style>{style()}</style>", *self.parts, "</svg>"]) + "\n"


def _number(value: Any) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float | int) else escape(str(value))


def style() -> str:
    """Return the CSS of a picture: the palette as variables that a page can set, and the look of each class."""
    names = ("ink", "muted", "axis", "grid", "paper")
    light = " ".join(f"--tm-{name}: {PALETTE[name].light};" for name in names)
    dark = " ".join(f"--tm-{name}: {PALETTE[name].dark};" for name in names)
    marks = "".join(
        f".tm .{role}{{--c:{PALETTE[role].light}}}" for role in ("watermark", "late", "too-late", "on-time", "invalid")
    )
    return f"""
:where(svg.tm) {{ {light} }}
@media (prefers-color-scheme: dark) {{ :where(svg.tm) {{ {dark} }} }}
.tm text {{ font: 13px -apple-system, 'Helvetica Neue', Helvetica, Arial, sans-serif; fill: var(--tm-ink); }}
.tm .tick, .tm .axis-name {{ fill: var(--tm-muted); font-size: 12px; }}
.tm .small {{ font-size: 12px; }}
.tm .halo {{ paint-order: stroke; stroke: var(--tm-paper); stroke-width: 4px; stroke-linejoin: round; }}
.tm .end {{ text-anchor: end; }} .tm .middle {{ text-anchor: middle; }} .tm .bold {{ font-weight: 700; }}
.tm .axis {{ stroke: var(--tm-axis); stroke-width: 1.2; }} .tm .grid {{ stroke: var(--tm-grid); stroke-width: 1; }}
.tm .ideal {{ stroke: var(--tm-axis); stroke-width: 1.2; stroke-dasharray: 2 4; fill: none; }}
.tm .delay {{ stroke: var(--tm-muted); stroke-width: 1.2; }}
{marks}
.tm .mark {{ fill: var(--c); stroke: var(--tm-paper); stroke-width: 1.5; }}
.tm .cross {{ fill: none; stroke: var(--c); stroke-width: 3; stroke-linecap: round; }}
.tm .step {{ fill: none; stroke: var(--c); stroke-width: 2.5; stroke-linejoin: round; }}
.tm .pane {{ fill: var(--c); stroke: var(--tm-paper); stroke-width: 1; }}
.tm .early.pane {{ fill: var(--tm-paper); stroke: var(--c); stroke-width: 1.5; }}
.tm .thin {{ fill: none; stroke: var(--c); stroke-width: 1.6; }}
.tm .dashed {{ stroke-dasharray: 5 4; }}
.tm .band {{ fill: var(--tm-ink); opacity: .05; }}
.tm .edge {{ stroke: var(--tm-muted); stroke-width: 1.2; stroke-dasharray: 5 4; }}
.tm .box {{ fill: var(--c); fill-opacity: .18; stroke: var(--c); stroke-width: 1.5; }}
.tm .bar {{ fill: var(--c); fill-opacity: .3; stroke: var(--c); stroke-width: 1.5; }}
"""


def legend(picture: Picture, y: float, entries: Sequence[tuple[str, float, str]]) -> None:
    """Draw the legend: the kind of each sign, its place across in units, and its meaning."""
    for kind, x, meaning in entries:
        if kind in {"watermark", "delay"}:
            picture.line("watermark step" if kind == "watermark" else kind, x - 8, y, x + 8, y)
        else:
            picture.sign(kind, x, y)
        picture.text("small", x + 13, y + 4, meaning)


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
