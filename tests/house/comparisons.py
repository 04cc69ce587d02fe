"""Comparisons: enum values compared as strings, where a misspelt value is a silent "no".

A place is a comparison (`==`, `!=`, `in`, `not in`) or a `case` with the string of a value. The value is that of an
enum of the project, or a window kind. The other side is one of these:

- `<member>.value`;
- a name or attribute that holds a kind: one of `HOLDERS`, or a field whose annotation is an enum of the project;
- a value of a document by key, such as `facts.value("windows.kind")`, if the key's last part is such a name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.house.checkout import Checkout, Module, Place

HOLDERS = frozenset({"kind", "strategy"})
WINDOW_KINDS = frozenset({"tumbling", "sliding", "session", "none"})
_ENUMS = frozenset({"Enum", "StrEnum", "IntEnum"})


def compared_as_strings(house: Checkout) -> Iterator[Place]:
    """Yield each comparison with the string of an enum's value."""
    enums = dict(_enums(house.product))
    values = WINDOW_KINDS.union(*enums.values())
    holders = HOLDERS | {name for module in house.product for name in _fields(module, frozenset(enums))}
    for module in house.product:
        for node in module.nodes:
            if isinstance(node, ast.Compare) and _is_by_string([node.left, *node.comparators], values, holders):
                yield Place(module.path, node.lineno, ast.unparse(node), module.package)
            elif isinstance(node, ast.Match) and _is_by_string([node.subject, *_cases(node)], values, holders):
                yield Place(module.path, node.lineno, f"match {ast.unparse(node.subject)}", module.package)


def _enums(modules: Iterable[Module]) -> Iterator[tuple[str, frozenset[str]]]:
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id in _ENUMS for b in node.bases):
                yield (
                    node.name,
                    frozenset(
                        line.value.value
                        for line in node.body
                        if isinstance(line, ast.Assign)
                        and isinstance(line.value, ast.Constant)
                        and isinstance(line.value.value, str)
                    ),
                )


def _fields(module: Module, enums: frozenset[str]) -> Iterator[str]:
    for node in module.nodes:
        match node:
            case ast.AnnAssign(ast.Name(name), annotation) if ast.unparse(annotation) in enums:
                yield name


def _cases(node: ast.Match) -> list[ast.expr]:
    return [part.value for case in node.cases for part in ast.walk(case.pattern) if isinstance(part, ast.MatchValue)]


def _is_by_string(operands: list[ast.expr], values: frozenset[str], holders: frozenset[str]) -> bool:
    return any(_is_text(side, values) for side in operands) and any(_holds(side, holders) for side in operands)


def _is_text(node: ast.expr, values: frozenset[str]) -> bool:
    match node:
        case ast.Constant(str(text)):
            return text in values
        case ast.Set(elements) | ast.Tuple(elements) | ast.List(elements):
            return bool(elements) and all(_is_text(element, values) for element in elements)
    return False


def _holds(node: ast.expr, holders: frozenset[str]) -> bool:
    match node:
        case ast.Attribute(_, "value"):
            return True
        case ast.Name(name) | ast.Attribute(attr=name):
            return name in holders
        case ast.Call(ast.Attribute(attr="value"), [ast.Constant(str(key)), *_]):
            return key.split(".")[-1] in holders
    return False
