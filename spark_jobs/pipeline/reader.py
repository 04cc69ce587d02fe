"""A reader makes documents: from YAML text, or from a mapping of Python.

YAML is read strictly: a key is text and stands once; aliases and tags are refused. Variables are replaced before a
value's type is determined. A failure becomes a problem with its place, and the reader goes on with the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import yaml

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.document import Block, Broken, Entry, Items, Node, Scalar, describe, join, quoted, resolve
from spark_jobs.pipeline.errors import Place, Problem, Problems, RefusedError
from spark_jobs.pipeline.printable import shortened


@dataclass(frozen=True)
class Reader:
    """Makes documents of one origin; `substitute` replaces variables in text, what goes wrong lands in `problems`."""

    place: Place
    substitute: Callable[[str], str]
    problems: Problems

    def from_yaml(self, text: str, key: str = "") -> Node:
        """Read YAML text, which will stand at `key`. What is not YAML at all is one problem, and the node is Broken."""
        try:
            root = yaml.compose(text, Loader=_Loader)
        except yaml.reader.ReaderError as error:
            place = self._at(text.count("\n", 0, error.position) + 1)
            return self._broken(place, key, f"not valid YAML: the character #x{error.character:04x} is not allowed")
        except (ValueError, OverflowError) as error:
            # PyYAML makes numbers of escapes and versions without a look at their size.
            return self._broken(self.place, key, f"not valid YAML: {error}; text with \\ needs single quotes")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = self._at(mark.line + 1, mark.column + 1) if mark else self.place
            reason = ", ".join(part for part in (error.context, error.problem) if part)
            return self._broken(place, key, f"not valid YAML: {reason}; text with : # * @ % {{ or [ needs quotes")
        if root is None:
            return self._broken(self.place, key, "it is empty")
        return self._yaml_node(root, key)

    def from_python(self, value: object, key: str = "") -> Node:
        """Read mappings, lists, text, numbers, booleans and None."""
        if isinstance(value, Enum):
            value = value.value
        if value is None or isinstance(value, bool | int | float):
            return Scalar(value, str(value), self.place)
        if isinstance(value, str):
            return self._scalar(value, self.place, key, plain=False)
        if isinstance(value, list | tuple):
            return Items(tuple(self.from_python(v, f"{key}[{i}]") for i, v in enumerate(value)), self.place)
        if isinstance(value, Mapping):
            block: dict[str, Entry] = {}
            for name, inner in value.items():
                if isinstance(name, str):
                    block[name] = Entry(self.place, self.from_python(inner, join(key, name)))
                else:
                    self._broken(self.place, key, f"found the key {name!r}; a key is text")
            return Block(block, self.place)
        allowed = "text, numbers, true, false, lists and mappings"
        return self._broken(self.place, key, f"found a {type(value).__name__}; a pipeline is made of {allowed}")

    def _yaml_node(self, node: yaml.Node, key: str) -> Node:
        place = self._at(node.start_mark.line + 1, node.start_mark.column + 1)
        if node.tag not in _STANDARD_TAGS:
            return self._broken(place, key, f"found the tag {node.tag}; tags are not supported")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node.value, place, key, plain=node.style is None)
        if isinstance(node, yaml.SequenceNode):
            return Items(tuple(self._yaml_node(item, f"{key}[{i}]") for i, item in enumerate(node.value)), place)
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            name = self._yaml_key(key_node, key)
            if name is None:
                continue
            key_place = self._at(key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            if name in entries:
                first = entries[name].place.line
                self._broken(key_place, join(key, name), f"stands twice, first in line {first}; keep one")
                continue
            entries[name] = Entry(key_place, self._yaml_node(value_node, join(key, name)))
        return Block(entries, place)

    def _yaml_key(self, node: yaml.Node, parent: str) -> str | None:
        place = self._at(node.start_mark.line + 1, node.start_mark.column + 1)
        if not isinstance(node, yaml.ScalarNode):
            self._broken(place, parent, "found a list or mapping as a key; a key is text (quote values with { or [)")
            return None
        name = Scalar(resolve(node.value), node.value, place, plain=True)
        if _HALF_CHARACTER.search(node.value):
            self._broken(place, parent, f"found half a character in the key '{shortened(node.value, 60)}'; {_WHOLE}")
            return None
        if node.style is None and (name.is_ambiguous or not isinstance(name.value, str)):
            self._broken(place, parent, f"found {describe(name)} as a key; a key is text: {quoted(name)}")
            return None
        return str(node.value)

    def _scalar(self, text: str, place: Place, key: str, *, plain: bool) -> Node:
        try:
            replaced = self.substitute(text)
        except RefusedError as refused:
            return self._broken(place, key, str(refused), refused.code)
        if _HALF_CHARACTER.search(replaced):
            return self._broken(place, key, f"found half a character in '{shortened(text, 60)}'; {_WHOLE}")
        template = "" if replaced == text else text
        return Scalar(resolve(replaced) if plain else replaced, replaced, place, plain, template)

    def _broken(self, place: Place, key: str, message: str, code: ErrorCode = ErrorCode.FILE_UNREADABLE) -> Broken:
        self.problems.add(Problem(place, key, message, code))
        return Broken(place)

    def _at(self, line: int, column: int | None = None) -> Place:
        # An override is one line: it is named, and its lines would be confused with the lines of the file.
        return self.place if self.place.override else replace(self.place, line=line, column=column)


class _Loader(yaml.BaseLoader):
    """PyYAML's reader without aliases and deep nesting, with which a small file could exhaust the process."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # the stubs leave it open
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases (*name) are not supported", mark)
        if self.depth == _DEEPEST:
            raise yaml.composer.ComposerError(None, None, f"nested more than {_DEEPEST} deep", mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


_DEEPEST = 50
# The halves of UTF-16, which no UTF-8 text contains, and which "\\ud800" spells in double quotes.
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_WHOLE = "write the whole character"
_STANDARD_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")
