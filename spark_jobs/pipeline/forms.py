"""A form is the shape of one value in a pipeline file: what is expected, and how it becomes a value of the model.

A form reads a node or reports why it cannot; it never raises. `Leaf` is a form of scalars, the functions below make the
kinds of it that the contract needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from spark_jobs.pipeline.document import Block, Broken, Node, Scalar, describe, plain_value, quoted
from spark_jobs.pipeline.durations import DurationError, format_duration, parse_duration
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.review import UNREADABLE, Review, hint, parent_of

# The engine counts in 64 bits.
_LARGEST = 2**63 - 1


class Form(Protocol):
    """The shape of a value; `expected` completes the sentence 'expected ...'."""

    @property
    def expected(self) -> str:
        """Name the shape."""

    def read(self, node: Node, key: str, review: Review) -> Any:
        """Return the value, or UNREADABLE after reporting the problem."""


@dataclass(frozen=True)
class Leaf:
    """A single value. `parse` raises RefusedError with the reason, which may be empty.

    `later` words are refused as such, alone and as a key: `strategy: {punctuated: ...}`. `options` is the enum of the
    words that the leaf accepts.
    """

    expected: str
    parse: Callable[[Scalar], Any]
    later: tuple[str, ...] = ()
    options: type[Enum] | None = None

    def read(self, node: Node, key: str, review: Review) -> Any:
        """Return the parsed value."""
        if isinstance(node, Broken):
            return UNREADABLE
        words = (node.text,) if isinstance(node, Scalar) else node.entries if isinstance(node, Block) else ()
        for word in words:
            if word in self.later:
                review.of_later_version.add(parent_of(key))
                message = f"'{word}' is not supported by this version, expected {self.expected}"
                review.refuse(node.place, key, message)
                return UNREADABLE
        try:
            if not isinstance(node, Scalar):
                raise RefusedError
            return self.parse(node)
        except RefusedError as refused:
            why = f"; {refused}" if str(refused) else ""
            review.refuse(node.place, key, f"found {describe(node)}, expected {self.expected}{why}")
        return UNREADABLE

    def then(self, change: Callable[[Any], Any]) -> Leaf:
        """Make a leaf that changes the value further; `change` may raise RefusedError."""
        return Leaf(self.expected, lambda node: change(self.parse(node)), self.later, self.options)


@dataclass(frozen=True)
class Plain:
    """Anything at all, as Python values."""

    expected: str = "a value"

    def read(self, node: Node, key: str, review: Review) -> Any:
        """Return the value, refusing only words that may or may not be booleans."""
        try:
            return UNREADABLE if isinstance(node, Broken) else plain_value(node)
        except RefusedError as refused:
            review.refuse(node.place, key, str(refused))
            return UNREADABLE


def text(expected: str) -> Leaf:
    """Return the form of text that is not empty; ends are stripped."""

    def parse(node: Scalar) -> str:
        if not isinstance(node.value, str) or node.is_ambiguous:
            raise RefusedError("" if node.value is None else quoted(node))
        if not node.value.strip():
            raise RefusedError("it is empty")
        return node.value.strip()

    return Leaf(expected, parse)


def pattern(expected: str, regex: str) -> Leaf:
    """Return the form of text that a regular expression matches as a whole."""

    def check(value: str) -> str:
        if re.fullmatch(regex, value) is None:
            raise RefusedError
        return value

    return text(expected).then(check)


def duration(expected: str = "a duration such as '6 hours' or '0s'", *, least_ms: int | None = 0) -> Leaf:
    """Return the form of a duration of at least `least_ms`; None allows negative ones."""

    def parse(node: Scalar) -> int:
        if isinstance(node.value, bool) or node.value is None:
            raise RefusedError
        try:
            ms = parse_duration(node.text, negative=least_ms is None)
        except DurationError as wrong:
            raise RefusedError(str(wrong)) from wrong
        if least_ms is not None and ms < least_ms:
            raise RefusedError(f"it must be at least {format_duration(least_ms)}")
        return ms

    return Leaf(expected, parse)


def choice(options: type[Enum], *, later: tuple[str, ...] = (), hints: Mapping[str, str] | None = None) -> Leaf:
    """Return the form of one word of an enum; `later` words are refused as not supported yet, `hints` name a better."""
    words = [str(option.value) for option in options if option.value not in later]

    def parse(node: Scalar) -> Enum:
        if node.value in words:
            return options(node.value)
        if hints and node.text in hints:
            raise RefusedError(f"write {hints[node.text]}")
        raise RefusedError(hint(node.text, words, later))

    return Leaf(" or ".join((", ".join(words[:-1]), words[-1]) if len(words) > 1 else words), parse, later, options)


def whole_number(expected: str, *, least: int) -> Leaf:
    """Return the form of an integer of at least `least`."""

    def parse(node: Scalar) -> int:
        if isinstance(node.value, bool) or not isinstance(node.value, int) or node.value < least:
            raise RefusedError
        if node.value > _LARGEST:
            raise RefusedError(f"at most {_LARGEST:,} is possible")
        return node.value

    return Leaf(expected, parse)


def or_none(form: Leaf) -> Leaf:
    """Return the form that also takes the word `none`, for None."""

    def parse(node: Scalar) -> Any:
        return None if node.value == "none" else form.parse(node)

    return Leaf(f"{form.expected}, or none", parse, form.later, form.options)


def flag(expected: str) -> Leaf:
    """Return the form of a boolean."""

    def parse(node: Scalar) -> bool:
        if not isinstance(node.value, bool):
            raise RefusedError
        return node.value

    return Leaf(expected, parse)


def ratio(expected: str) -> Leaf:
    """Return the form of a share between 0 and 1, both included."""

    def parse(node: Scalar) -> float:
        if isinstance(node.value, str) and re.fullmatch(r"[0-9.]+ *%", node.value):
            raise RefusedError("1% is 0.01")
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise RefusedError
        if math.isnan(node.value) or not 0 <= node.value <= 1:
            raise RefusedError
        return float(node.value)

    return Leaf(expected, parse)
