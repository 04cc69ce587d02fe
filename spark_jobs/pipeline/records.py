"""A record is a mapping whose keys are known: every field that is written is read, every other key is a problem.

Fields, rules and the names of later versions are data. A record reads all of its fields before it gives up. For an
unknown key it reports a similar name, or the mapping to which the key belongs. `ListOf` and `Either`
are the other two compound forms.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.document import Block, Broken, Items, Node, Scalar, describe, join
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import Form
from spark_jobs.pipeline.review import UNREADABLE, Facts, Review, hint, nearest

#: Gives (key relative to the record, message) for every contradiction in the facts.
Rule = Callable[[Facts], Iterator[tuple[str, str]]]


@dataclass(frozen=True)
class Field:
    """One key of a record. `into` is the argument of the record's `build` that takes its value.

    `meaning` is a sentence about the key, for people.
    """

    name: str
    into: str
    form: Form
    required: bool = False
    meaning: str = ""


@dataclass(frozen=True)
class Rest:
    """The keys that are free names: each passes `name` (which raises RefusedError), its value has one form."""

    into: str
    form: Form
    name: Callable[[str], str] = str


@dataclass(frozen=True)
class Record:
    """A mapping. `build` makes the value from what the fields gave; what is not written is left to its defaults."""

    build: Callable[..., Any]
    fields: tuple[Field, ...] = ()
    rest: Rest | None = None
    rules: tuple[Rule, ...] = ()
    later: tuple[str, ...] = ()
    what: str = ""

    @property
    def expected(self) -> str:
        """Name the keys."""
        return self.what or f"a mapping with the keys {', '.join(field.name for field in self.fields)}"

    def read(self, node: Node, key: str, review: Review) -> Any:
        """Return what `build` makes, if every field can be read; else UNREADABLE after reporting each problem."""
        if not isinstance(node, Block):
            review.closed.add(key)
            if not isinstance(node, Broken):
                review.refuse(node.place, key, f"found {describe(node)}, expected {self.expected}")
            return UNREADABLE
        by_name = {field.name: field for field in self.fields}
        for name, entry in node.entries.items():
            review.places[join(key, name)] = entry.place
            if name not in by_name and self.rest is None:
                self._refuse_unknown(name, key, review)
        arguments = self._read_fields(node, key, review)
        if self.rest:
            free = {name: entry.node for name, entry in node.entries.items() if name not in by_name}
            arguments[self.rest.into] = self._read_rest(self.rest, free, key, review)
        for rule in self.rules:
            for inner, message in rule(Facts(review, key)):
                _contradict(review, join(key, inner), message)
        # Values may define equality; only identity finds the sentinel.
        if any(value is UNREADABLE for value in arguments.values()):
            return UNREADABLE
        return self.build(**arguments)

    def _read_fields(self, node: Block, key: str, review: Review) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for field in self.fields:
            inner = join(key, field.name)
            if field.name in node.entries:
                value = field.form.read(node.entries[field.name].node, inner, review)
                arguments[field.into] = value
                if value is not UNREADABLE:
                    review.values[inner] = value
        for field in self.fields:
            # A file for a later version lacks fields for a reason: only the reason is worth reading.
            if field.required and field.name not in node.entries:
                inner = join(key, field.name)
                arguments[field.into] = UNREADABLE
                if key not in review.of_later_version and not review.is_closed(inner):
                    review.closed.add(inner)
                    message = f"missing, expected {field.form.expected}"
                    review.refuse(review.place_of(inner), inner, message, ErrorCode.KEY_MISSING)
        return arguments

    def _read_rest(self, rest: Rest, free: dict[str, Node], key: str, review: Review) -> Any:
        values: dict[str, Any] = {}
        for name, node in free.items():
            try:
                rest.name(name)
            except RefusedError as refused:
                review.refuse(review.places[join(key, name)], join(key, name), f"found the name '{name}'; {refused}")
            values[name] = rest.form.read(node, join(key, name), review)
        review.names[key] = tuple(free)
        return UNREADABLE if any(value is UNREADABLE for value in values.values()) else values

    def _refuse_unknown(self, name: str, key: str, review: Review) -> None:
        place_key = join(key, name)
        names = [field.name for field in self.fields]
        # What was meant counts as written, so that nothing else complains that it is missing.
        if name in self.later:
            review.of_later_version.add(key)
            message = "not supported by this version"
        elif near := nearest(name, (*names, *self.later)):
            if near in self.later:
                review.of_later_version.add(key)
            review.closed.add(join(key, near))
            message = f"unknown key; {hint(name, names, self.later)}"
        elif name in review.homes:
            review.closed.update(join(home, name) for home in review.homes[name])
            message = f"unknown key here; it belongs to {' or '.join(review.homes[name]) or 'the top of the file'}"
        else:
            message = "unknown key"
        end = "" if message.endswith("?") else ";"
        full_message = f"{message}{end} known keys: {', '.join(names)}"
        review.refuse(review.places[place_key], place_key, full_message, ErrorCode.KEY_UNKNOWN)


def _contradict(review: Review, key: str, message: str) -> None:
    code = ErrorCode.KEY_MISSING if message.startswith("missing") else ErrorCode.SETTINGS_CONTRADICT
    review.refuse(review.place_of(key), key, message, code)


@dataclass(frozen=True)
class ListOf:
    """A list whose items have one form, no two of them the same by `identity`."""

    item: Form
    expected: str
    identity: Callable[[Any], Hashable] | None = None
    build: Callable[[tuple[Any, ...]], Any] = tuple

    def read(self, node: Node, key: str, review: Review) -> Any:
        """Return what `build` makes of the items."""
        if not isinstance(node, Items):
            if not isinstance(node, Broken):
                rewritten = f"; write [{node.display}]" if isinstance(node, Scalar) and node.text else ""
                review.refuse(node.place, key, f"found {describe(node)}, expected {self.expected}{rewritten}")
            return UNREADABLE
        values: list[Any] = []
        identities: set[Hashable] = set()
        for position, inner in enumerate(node.nodes):
            item_key = f"{key}[{position}]"
            review.places[item_key] = inner.place
            value = self.item.read(inner, item_key, review)
            values.append(value)
            if value is UNREADABLE or self.identity is None:
                continue
            if self.identity(value) in identities:
                review.refuse(inner.place, item_key, f"found {describe(inner)} for the second time; keep one")
            identities.add(self.identity(value))
        readable = tuple(value for value in values if value is not UNREADABLE)
        review.names[key] = tuple(value for value in readable if isinstance(value, str))
        return self.build(readable) if len(readable) == len(values) else UNREADABLE


@dataclass(frozen=True)
class Either:
    """A value that may be written as a scalar, as a list or as a mapping."""

    expected: str
    scalar: Form | None = None
    items: Form | None = None
    block: Form | None = None

    def read(self, node: Node, key: str, review: Review) -> Any:
        """Return what the form of that kind reads."""
        form = self.block if isinstance(node, Block) else self.items if isinstance(node, Items) else self.scalar
        if form is not None or isinstance(node, Broken):
            return UNREADABLE if form is None else form.read(node, key, review)
        is_word = isinstance(node, Scalar) and bool(node.text) and isinstance(self.items, ListOf)
        rewritten = f"; write [{node.text}]" if is_word and isinstance(node, Scalar) else ""
        review.refuse(node.place, key, f"found {describe(node)}, expected {self.expected}{rewritten}")
        return UNREADABLE
