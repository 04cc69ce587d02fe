"""A review is one pass of the pipeline file's contract over a document: what was understood, and every problem.

For each dotted key it has the place (`places`), the value (`values`, readable ones only) and the names in a mapping or
list (`names`). Rules about several keys can therefore be checked although other keys are wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.document import join
from spark_jobs.pipeline.errors import Place, Problem, Problems

#: The problems that a rule finds: keys, each with a message.
Contradictions = Iterator[tuple[str, str]]


class _Unreadable(Enum):
    UNREADABLE = "unreadable"


#: Stands for a value that is wrong or missing and has been reported. It equals no value.
UNREADABLE: Final = _Unreadable.UNREADABLE


@dataclass
class Review:
    """The state of one pass. `homes` has the dotted keys under which a name is allowed, for hints at misplaced keys."""

    homes: Mapping[str, tuple[str, ...]]
    problems: Problems
    places: dict[str, Place] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    of_later_version: set[str] = field(default_factory=set)

    def refuse(self, place: Place, key: str, message: str, code: ErrorCode = ErrorCode.VALUE_WRONG) -> None:
        """Note a problem."""
        self.problems.add(Problem(place, key, message, code))

    def place_of(self, key: str) -> Place:
        """Find where a key was written, or else the nearest mapping around it."""
        while key not in self.places:
            key = parent_of(key)
        return self.places[key]

    def is_closed(self, key: str) -> bool:
        """Return True if the key, or a mapping around it, is wrong as a whole, so that no key inside can be read."""
        while key:
            if key in self.closed:
                return True
            key = parent_of(key)
        return False


@dataclass(frozen=True)
class Facts:
    """A view of a review for a rule; keys are relative to the mapping of the rule."""

    review: Review
    key: str

    def value(self, name: str, default: Any = None) -> Any:
        """Return a key's value, `default` where it is not written, UNREADABLE where it is wrong."""
        key = join(self.key, name)
        if key in self.review.values:
            return self.review.values[key]
        return UNREADABLE if self.is_written(name) else default

    def is_written(self, name: str) -> bool:
        """Return True if a key is in the file, or may be, because a mapping around it is wrong as a whole."""
        key = join(self.key, name)
        return key in self.review.places or self.review.is_closed(key)

    def inside(self, name: str) -> list[str]:
        """Return the keys that are written in a mapping, in the order of the file."""
        start = join(self.key, name) + "."
        return [
            key.removeprefix(start)
            for key in self.review.places
            if key.startswith(start) and "." not in key[len(start) :]
        ]

    def items(self, name: str) -> list[str]:
        """Return the keys of a list's items, in their order."""
        start = join(self.key, name) + "["
        return [
            key for key in self.review.places if key.startswith(start) and key.find("]", len(start)) == len(key) - 1
        ]

    def names(self, name: str) -> tuple[str, ...]:
        """Return the readable names in a mapping or list of names."""
        return self.review.names.get(join(self.key, name), ())


def parent_of(key: str) -> str:
    """Cut the last part of a dotted key: `a.b[0]`, `a.b`, `a`, ``."""
    return key[: max(key.rfind("."), key.rfind("["), 0)]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the one of `names` that has the words of `name`, or that looks most like it, if any does."""
    names = list(names)
    longer = [other for other in names if f"_{name.lower()}_" in f"_{other}_"]
    if len(longer) == 1:
        return longer[0]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    return near[0] if near else None


def hint(name: str, names: Iterable[str], later: Iterable[str] = ()) -> str:
    """Return 'did you mean ...?' if a name of this or a later version looks like the name in the file, else ''."""
    present = tuple(names)
    near = nearest(name, (*present, *later))
    if near is None:
        return ""
    return f"did you mean '{near}'?" + ("" if near in present else " it is not supported by this version")
