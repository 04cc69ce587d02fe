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
        measure = next(measure for measure in MEASURES if measure.name == options.list)
        lines = [str(place) for place in figure(measure, house).places]
    elif options.json:
        lines = [json.dumps({measure.name: _as_json(figure(measure, house)) for measure in MEASURES}, indent=2)]
    else:
        lines = [line for measure in MEASURES for line in _rows(figure(measure, house))]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.house", description="Measure the house.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help="the checkout to measure")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--list", metavar="NAME", choices=[measure.name for measure in MEASURES], help="the places of a measure"
    )
    shape.add_argument("--json", action="store_true", help="all figures as JSON")
    return parser


def _as_json(result: Figure) -> dict[str, object]:
    return {"value": result.value, "places": len(result.places), "files": result.files, "groups": result.groups}


def _rows(result: Figure) -> list[str]:
    """Format the line of a measure, and a second line with its largest groups."""
    measure = result.measure
    other = f"{len(result.places)} places" if measure.counts == "files" else f"{result.files} files"
    rows = [f"{measure.name:<24}{measure.label:<52}{result.value:>6}  ({other})"]
    groups = list(result.groups.items())
    if groups:
        listed = ", ".join(f"{name} {count}" for name, count in groups[:_GROUPS_SHOWN])
        rest = sum(count for _, count in groups[_GROUPS_SHOWN:])
        rows.append(f"{'':<24}{listed}{f', all others {rest}' if rest else ''}")
    return rows


if __name__ == "__main__":
    sys.exit(main())
