"""Measure the house: how many files a change touches, which words and references are left, what is long or untested.

    python -m tests.house                          the table
    python -m tests.house --list kinds.window      the places that a measure counts
    python -m tests.house --json                   all figures, with their groups
    python -m tests.house --root ../old-checkout   another checkout, whatever its layout

The modules of this folder define each measure exactly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.house.checkout import Checkout
from tests.house.measures import MEASURES, Figure, figure

_GROUPS_SHOWN = 6


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures, or the places of one measure."""
    options = _parser().parse_args(arguments)
    house = Checkout(options.root.resolve())
    if options.list:
        measure = next(one for one in MEASURES if one.name == options.list)
        lines = [str(place) for place in figure(measure, house).places]
    elif options.json:
        lines = [json.dumps({one.name: _as_json(figure(one, house)) for one in MEASURES}, indent=2)]
    else:
        lines = [line for one in MEASURES for line in _rows(figure(one, house))]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.house", description="Measure the house.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help="the checkout to measure")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--list", metavar="NAME", choices=[one.name for one in MEASURES], help="the places of a measure")
    shape.add_argument("--json", action="store_true", help="all figures as JSON")
    return parser


def _as_json(taken: Figure) -> dict[str, object]:
    return {"value": taken.value, "places": len(taken.places), "files": taken.files, "groups": taken.groups}


def _rows(taken: Figure) -> list[str]:
    """Format the line of a measure, and a second line with its largest groups."""
    measure = taken.measure
    other = f"{len(taken.places)} places" if measure.counts == "files" else f"{taken.files} files"
    rows = [f"{measure.name:<24}{measure.label:<52}{taken.value:>6}  ({other})"]
    groups = list(taken.groups.items())
    if groups:
        listed = ", ".join(f"{name} {count}" for name, count in groups[:_GROUPS_SHOWN])
        rest = sum(count for _, count in groups[_GROUPS_SHOWN:])
        rows.append(f"{'':<24}{listed}{f', all others {rest}' if rest else ''}")
    return rows


if __name__ == "__main__":
    sys.exit(main())
