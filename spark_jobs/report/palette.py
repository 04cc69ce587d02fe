"""The colours of a report: each role once for light and once for dark paper, for the page and its charts alike.

Law: text has a contrast of at least 4.5 to its paper, what a chart draws at least 3 (WCAG 2.2, 1.4.3 and 1.4.11).
A chart has the same colours on both papers, so that it is not drawn again to be printed. Colour is never the only
difference: marks also differ in shape, bars in hatching, states in words.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Colour:
    """One role in both schemes, as #rrggbb."""

    light: str
    dark: str


PAPER = "paper"
TEXT_ROLES = ("ink", "muted", "link", "good", "bad", "warn")
#: The colours of source partitions. People without red, green or both can also distinguish them.
PARTITION_ROLES = ("partition-1", "partition-2", "partition-3", "partition-4")
_ROWS = ("watermark", "late", "too-late", "on-time", "invalid", "filtered", "unassigned", "result")
CHART_ROLES = (*_ROWS, *PARTITION_ROLES)

PALETTE: dict[str, Colour] = {
    PAPER: Colour("#ffffff", "#151b22"),
    "ground": Colour("#f2f5f7", "#0d1217"),
    "rule": Colour("#d5dde3", "#2d3843"),
    "ink": Colour("#15212b", "#e8eef3"),
    "muted": Colour("#51616f", "#a3b3c0"),
    "link": Colour("#0b5c8a", "#6fc3f0"),
    "good": Colour("#1b6e45", "#63d29b"),
    "bad": Colour("#ae1736", "#ff8196"),
    "warn": Colour("#8a4b00", "#f3b04d"),
    "watermark": Colour("#2a82bb", "#2a82bb"),
    "late": Colour("#c77700", "#c77700"),
    "too-late": Colour("#d4365c", "#d4365c"),
    "on-time": Colour("#1f9080", "#1f9080"),
    "invalid": Colour("#8d6cc0", "#8d6cc0"),
    "filtered": Colour("#7a8896", "#7a8896"),
    "unassigned": Colour("#9a7b4f", "#9a7b4f"),
    "result": Colour("#1f9080", "#1f9080"),
    "partition-1": Colour("#e66700", "#e66700"),
    "partition-2": Colour("#8c1aff", "#8c1aff"),
    "partition-3": Colour("#4b9b9b", "#4b9b9b"),
    "partition-4": Colour("#9b6f4b", "#9b6f4b"),
    "axis": Colour("#6b7a87", "#8fa0ae"),
    "grid": Colour("#e6ebef", "#252f39"),
}


def variables(*, dark: bool) -> str:
    """Return the palette as CSS declarations."""
    return " ".join(f"--{role}: {colour.dark if dark else colour.light};" for role, colour in PALETTE.items())


def scheme(*, dark: bool) -> dict[str, str]:
    """Return the palette as role and #rrggbb."""
    return {role: colour.dark if dark else colour.light for role, colour in PALETTE.items()}
