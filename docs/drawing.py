"""Drawings as SVG: axes in minutes after noon, signs of rows, lines of watermarks, a legend.

A drawing has no fixed size; its text is readable at the width of a phone. Colours are variables that a page can set,
with the values of the report's palette. Alone, a drawing follows the reader's light or dark mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Any

from spark_jobs.report.palette import PALETTE

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MINUTE_MS = 60_000
NOON_MS = int(NOON.timestamp() * 1000)
# Units of a drawing; at the width of a phone a unit is about 0.85 pixels.
WIDTH = 400
LEFT, RIGHT, TOP, BOTTOM = 50, 388, 14, 44


def minutes(moment: datetime) -> float:
    """Return the minutes after noon."""
    return (moment - NOON) / timedelta(minutes=1)


def minutes_of_ms(instant: int) -> float:
    """Return the minutes after noon for milliseconds since 1970."""
    return (instant - NOON_MS) / MINUTE_MS


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
