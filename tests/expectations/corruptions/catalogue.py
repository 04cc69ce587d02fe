"""The catalogue of corruptions: each changes the staged tables of a good run, and names the invariants that report it.

A corruption changes rows of the staged tables. The counts that the run reports stay, except where it names a
difference. `reported_by` are all invariants that the corrupted tables violate: no other invariant may report it.

For the run `drawn`, the invariants of the suite `run` are left out, because one audit reads all its copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.sampling import sampled
from tests.support.generated_run import Rows

#: A change of staged tables, in place.
Edit = Callable[[Rows], Any]


@dataclass(frozen=True)
class Corruption:
    """One way to corrupt the good run `run`, which `good_runs` lists by its pipeline's kind.

    `reported_by` are names of invariants, each `suite.name`. `why` is the wrong conclusion that a reader of the
    corrupted tables would draw. `counts` are differences of the counts that the run reports.
    """

    run: str
    name: str
    edit: Edit
    reported_by: frozenset[str]
    why: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


CATALOGUE: list[Corruption] = []


def on(run: str, *reported_by: str, why: str) -> Callable[[Edit], Edit]:
    """Enter the decorated function of the rows into the catalogue, under its name."""

    def entered(edit: Edit) -> Edit:
        CATALOGUE.append(Corruption(run, edit.__name__, edit, frozenset(reported_by), why))
        return edit

    return entered


def enter(run: str, edits: Mapping[str, tuple[Edit, set[str]]]) -> None:
    """Enter corruptions of one run into the catalogue: for each name, the edit and the invariants that report it."""
    CATALOGUE.extend(Corruption(run, name, edit, frozenset(names)) for name, (edit, names) in edits.items())


def of_runs(*runs: str) -> list[Corruption]:
    """Return the corruptions of some good runs, in the order of the catalogue."""
    return [corruption for corruption in CATALOGUE if corruption.run in runs]


def cases(*runs: str, quick: Callable[[int, Corruption], bool] = lambda number, corruption: True) -> list[Any]:
    """Return the corruptions of some good runs as test parameters. A corruption that is not `quick` is a soak test."""
    return [
        sampled(corruption, quick=quick(number, corruption), id=corruption.name)
        for number, corruption in enumerate(of_runs(*runs))
    ]
