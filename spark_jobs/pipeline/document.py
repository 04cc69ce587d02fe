"""A document is a tree of mappings, lists and scalars in which every part knows where it was written.

Text without quotes is `null`, a boolean, a number, or else text, as in YAML 1.2. `true` and `false` are the only
booleans; `yes`, `no`, `on` and `off` are text, but ambiguous. A number is decimal and has no leading zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.pipeline.errors import Place, RefusedError
from spark_jobs.pipeline.printable import shortened

ScalarValue = str | int | float | bool | None


@dataclass(frozen=True)
class Scalar:
    """One value; `text` is how it was written, `plain` whether without quotes.

    `template` is the text before variables were replaced, if it has any.
    """

    value: ScalarValue
    text: str
    place: Place
    plain: bool = False
    template: str = ""

    @property
    def display(self) -> str:
        """The text for people, in which a variable's value does not stand."""
        return self.template or self.text

    @property
    def is_ambiguous(self) -> bool:
        """Whether it is one of the words that some YAML readers take for true or false, and others for text."""
        return self.plain and isinstance(self.value, str) and self.text.lower() in _AMBIGUOUS


@dataclass(frozen=True)
class Items:
    """A list."""

    nodes: tuple[Node, ...]
    place: Place


@dataclass(frozen=True)
class Entry:
    """The value of a key; `place` is the key's."""

    place: Place
    node: Node


@dataclass(frozen=True)
class Block:
    """A mapping, in the order of the file."""

    entries: Mapping[str, Entry]
    place: Place


@dataclass(frozen=True)
class Broken:
    """A part whose problem has been reported already."""

    place: Place


Node = Scalar | Items | Block | Broken


def join(parent: str, name: str) -> str:
    """Put a name behind a dotted key; either may be empty."""
    return f"{parent}.{name}" if parent and name else parent or name


def resolve(text: str) -> ScalarValue:
    """Return the value of text without quotes."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def describe(node: Node) -> str:
    """Return the node in the words of an error message."""
    if isinstance(node, Block):
        return "a mapping"
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Broken) or node.value is None:
        return "nothing"
    if isinstance(node.value, bool) or node.is_ambiguous:
        return f"the YAML boolean {node.display}"
    if isinstance(node.value, int | float):
        return f"the number {node.display}"
    return f"'{shortened(node.display, 60)}'"


def quoted(node: Scalar) -> str:
    """Show how to write the scalar so that every YAML reader takes it for text."""
    return f'write "{node.display}" with quotes'


def plain_value(node: Node) -> Any:
    """Return the document back as Python values. Raises RefusedError for a word that may be a boolean or not."""
    if isinstance(node, Block):
        return {name: plain_value(entry.node) for name, entry in node.entries.items()}
    if isinstance(node, Items):
        return [plain_value(item) for item in node.nodes]
    if isinstance(node, Broken):
        return None
    if node.is_ambiguous:
        raise RefusedError(f"found {describe(node)}; write true or false, or {quoted(node)}")
    return node.value


_AMBIGUOUS = frozenset(("yes", "no", "on", "off"))
_BOOLEANS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,30})")
_FLOAT = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
