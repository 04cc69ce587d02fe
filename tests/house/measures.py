"""Measures: all that the house is measured by, with the names of the table.

A measure yields places. Its figure is the number of places, or of different files if it counts files. The definition of
each is the docstring of the module that it comes from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tests.house import comparisons, kinds, layers, predicates, references, sizes, untested, wirings, words
from tests.house.checkout import Checkout, Place


@dataclass(frozen=True)
class Measure:
    """One line of the table."""

    name: str
    label: str
    places: Callable[[Checkout], Iterator[Place]]
    counts: Literal["places", "files"] = "places"


@dataclass(frozen=True)
class Figure:
    """What a measure counts in one checkout."""

    measure: Measure
    places: tuple[Place, ...]

    @property
    def files(self) -> int:
        """How many files have a place."""
        return len({place.path for place in self.places})

    @property
    def value(self) -> int:
        """The number of the table."""
        return self.files if self.measure.counts == "files" else len(self.places)

    @property
    def groups(self) -> dict[str, int]:
        """The places by group, the largest first; empty for a measure without groups."""
        groups = Counter(place.group for place in self.places if place.group)
        return dict(sorted(groups.items(), key=lambda group: (-group[1], group[0])))


MEASURES = (
    Measure("kinds.window", "files that decide on a window kind", partial(kinds.decisions, kind=kinds.WINDOW), "files"),
    Measure(
        "kinds.trigger", "files that decide on a trigger kind", partial(kinds.decisions, kind=kinds.TRIGGER), "files"
    ),
    Measure(
        "kinds.strategy", "files that decide on a strategy", partial(kinds.decisions, kind=kinds.STRATEGY), "files"
    ),
    Measure(
        "kinds.window.callers", "further files, by a predicate", partial(kinds.callers, kind=kinds.WINDOW), "files"
    ),
    Measure(
        "kinds.trigger.callers", "further files, by a predicate", partial(kinds.callers, kind=kinds.TRIGGER), "files"
    ),
    Measure(
        "kinds.strategy.callers", "further files, by a predicate", partial(kinds.callers, kind=kinds.STRATEGY), "files"
    ),
    Measure("kinds.table", "files that name an output table", kinds.table_names, "files"),
    Measure("kinds.table.lists", "files that list output tables", kinds.table_lists, "files"),
    Measure("enums.strings", "comparisons with strings of enum values", comparisons.compared_as_strings),
    Measure("predicates", "predicates about a pipeline", predicates.predicates),
    Measure("predicates.again", "predicates defined more than once", predicates.defined_again),
    Measure("wirings", "modules that wire the engine", wirings.wirings, "files"),
    Measure("wirings.frames", "modules that call many functions of replay", wirings.callers_of_frames, "files"),
    Measure("layers.types", "imports for types from an upper layer", layers.upward_imports),
    Measure("epoch", "copies of the epoch", sizes.copies_of_the_epoch),
    Measure("sizes.functions", f"functions over {sizes.LONGEST_FUNCTION} lines", sizes.long_functions),
    Measure("sizes.files", f"files over {sizes.LONGEST_FILE} lines", sizes.long_files),
    Measure("tests.mirrored", "modules without a test in the mirrored folder", untested.without_mirrored_test, "files"),
    Measure("tests.any", "modules without a test of their name", untested.without_any_test, "files"),
    Measure("tests.imports", "imports between test modules", sizes.imports_between_tests),
    Measure("references.rules", "mentions of rules that do not resolve", references.unresolved_rules),
    Measure("references.links", "links that lead nowhere", references.dead_links),
    Measure("references.files", "named files that do not exist", references.missing_files),
    Measure("references.modules", "named modules that do not exist", references.missing_modules),
    Measure("words.names", "banned words in names of the product", words.in_names),
    Measure("words.bare", "of these: bare pronouns and participles", words.bare_names),
    Measure("words.docstrings", "banned words in docstrings", words.in_texts("docstring")),
    Measure("words.comments", "banned words in comments", words.in_texts("comment")),
    Measure("words.messages", "banned words in errors, log lines and texts", words.in_texts("error", "log", "text")),
    Measure("words.tests.names", "banned words in names of tests", words.in_test_names),
    Measure("words.tests.texts", "banned words in docstrings and comments of tests", words.in_test_texts),
    Measure("words.documents", "banned words in documents", words.in_documents),
)


def figure(measure: Measure, house: Checkout) -> Figure:
    """Take one measure of a checkout."""
    return Figure(measure, tuple(measure.places(house)))
