"""Kinds: the product files that decide on a window kind, a trigger kind, a watermark strategy or an output table.

A file decides on a kind, and so has to be read again for a new one, if it does one of these:

- it defines the kind: the enum, a class such as `SlidingWindows`, or a constant such as `SESSION = "session"`;
- it compares with a member or value: `==`, `is`, `in`, a `case`, or `isinstance` with the kind's class;
- it maps or lists members, values or classes: a key of a dict, an element of a set, tuple or list;
- it lists values in a text: a pattern such as `tumbling|sliding`, or an error such as "known: session, sliding".

Passing a member on, as an argument or a default, decides nothing and does not count. Values that other enums share
("none", "count", "event_time") count only beside a subject that names the kind, such as `declared.trigger.kind`.

A predicate that is nothing but such a comparison, such as `are_sessions(pipeline)`, only renames the `if`. The files
that call such a predicate and decide on nothing else are counted apart: their branch is less visible, not gone.

Output tables have no comparisons. One measure counts the files that name a table, by literal or by constant. The other
counts the files that list or map at least two tables, and so need an entry for a new one. The literal "watermarks" also
names a step; it counts wherever it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from tests.house.checkout import Checkout, Module, Place
from tests.house.syntax import definitions, docstring_nodes, imported, is_single_return

TABLES = frozenset(
    {"panes", "window_results", "late_events", "invalid_events", "watermarks", "pairs", "complete_results"}
)
_TABLE_CONSTANTS = frozenset({"RESULT_TABLES", "JOIN_TABLES", "COMPLETE_TABLE", "PUBLISHED_TABLES", "TABLES"})
#: Constants of steps that are called like a table.
_STEPS = frozenset({"WATERMARKS"})
_FEWEST_LISTED = 2
#: The nodes that may decide on a kind.
_DECIDING = (
    ast.Assign, ast.Call, ast.ClassDef, ast.Compare, ast.Constant, ast.Dict, ast.List, ast.Match, ast.Set,
    ast.Subscript, ast.Tuple,
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """One kind: `enums` and `classes` are names of types, `plain` the values that no other enum has."""

    enums: frozenset[str]
    values: frozenset[str]
    plain: frozenset[str]
    subject: re.Pattern[str]
    classes: frozenset[str] = frozenset()

    @cached_property
    def constants(self) -> frozenset[str]:
        """Names of constants for the plain values."""
        return frozenset(value.upper() for value in self.plain)

    @cached_property
    def listing(self) -> re.Pattern[str]:
        """Two values one after the other in a text."""
        value = "|".join(sorted(self.values, key=len, reverse=True))
        return re.compile(rf"\b({value})(?:\||, | or |, or | and )({value})\b")


WINDOW = Kind(
    enums=frozenset({"WindowKind", "WindowsKind"}),
    values=frozenset({"tumbling", "sliding", "session", "global", "none"}),
    plain=frozenset({"tumbling", "sliding", "session"}),
    subject=re.compile(r"\bkind\b|\.kind\b"),
    classes=frozenset(
        form.format(kind) for kind in ("Tumbling", "Sliding", "Session") for form in ("{}", "{}Window", "{}Windows")
    ),
)
TRIGGER = Kind(
    enums=frozenset({"TriggerKind"}),
    values=frozenset({"event_time", "continuous", "count"}),
    plain=frozenset(),
    subject=re.compile(r"trigger|\bkind\b"),
    classes=frozenset(
        form.format(kind)
        for kind in ("EventTime", "Continuous", "ContinuousEventTime", "Count")
        for form in ("{}Trigger",)
    ),
)
STRATEGY = Kind(
    enums=frozenset({"Strategy", "StrategyKind", "WatermarkStrategy"}),
    values=frozenset({"bounded_out_of_orderness", "monotonous", "punctuated", "time_lag", "custom", "none"}),
    plain=frozenset({"bounded_out_of_orderness", "monotonous", "punctuated", "time_lag"}),
    subject=re.compile(r"strategy"),
)


def decisions(house: Checkout, kind: Kind) -> Iterator[Place]:
    """Yield each place of the product that decides on `kind`."""
    for module in house.product:
        yield from _direct(module, kind)


def callers(house: Checkout, kind: Kind) -> Iterator[Place]:
    """Yield the calls of one-comparison predicates, in files that decide on `kind` nowhere else."""
    predicates = _predicates(house.product, kind)
    for module in house.product:
        places = set(_uses(module, predicates))
        if places and not _direct(module, kind):
            yield from sorted(places)


@cache
def _direct(module: Module, kind: Kind) -> tuple[Place, ...]:
    return tuple(sorted(set(_reasons(module, kind))))


def _reasons(module: Module, kind: Kind) -> Iterator[Place]:
    documented = docstring_nodes(module)
    for node in module.nodes:
        reason = _reason(node, kind) if isinstance(node, _DECIDING) and node not in documented else None
        if reason:
            yield Place(module.path, node.lineno, reason)  # type: ignore[attr-defined]  # every reason has a line


def _reason(node: ast.AST, kind: Kind) -> str | None:
    return _comparison(node, kind) or _listing(node, kind) or _definition(node, kind)


def _comparison(node: ast.AST, kind: Kind) -> str | None:
    match node:
        case ast.Compare() if _compares(node, kind):
            return f"compares: {ast.unparse(node)}"
        case ast.Call(func=ast.Name("isinstance"), args=[_, tested]) if _names(tested) & kind.classes:
            return f"compares: {ast.unparse(node)}"
        case ast.Match() if any(_decides(case.pattern, node.subject, kind) for case in node.cases):
            return f"matches: {ast.unparse(node.subject)}"
    return None


def _listing(node: ast.AST, kind: Kind) -> str | None:
    match node:
        case ast.Dict() if _lists([key for key in node.keys if key], kind):
            return "maps: keys of a dict"
        case ast.Subscript(slice=index) if _is_member(index, kind):
            return f"maps: {ast.unparse(node)}"
        case ast.Set() | ast.Tuple() | ast.List() if _lists(node.elts, kind):
            return f"lists: {ast.unparse(node)[:60]}"
        case ast.Constant(str(text)) if kind.listing.search(text):
            return f"lists in a text: {text[:60]!r}"
    return None


def _definition(node: ast.AST, kind: Kind) -> str | None:
    match node:
        case ast.ClassDef() if node.name in kind.enums | kind.classes:
            return f"defines: class {node.name}"
        case ast.Assign(targets=[ast.Name(name)], value=ast.Constant(value)) if name in kind.constants:
            return f"defines: {name} = {value!r}"
    return None


def _compares(node: ast.Compare, kind: Kind) -> bool:
    operands = [node.left, *node.comparators]
    return any(_is_value(operand, kind, [other for other in operands if other is not operand]) for operand in operands)


def _is_value(node: ast.expr, kind: Kind, subjects: list[ast.expr]) -> bool:
    match node:
        case ast.Set(elements) | ast.Tuple(elements) | ast.List(elements):
            return any(_is_value(element, kind, subjects) for element in elements)
        case ast.Call(ast.Name("frozenset" | "set" | "tuple"), [elements_of]):
            return _is_value(elements_of, kind, subjects)
        case ast.Constant(str(value)):
            return value in kind.plain or (value in kind.values and _is_subject(subjects, kind))
    return _is_member(node, kind)


def _is_subject(subjects: list[ast.expr], kind: Kind) -> bool:
    return any(kind.subject.search(ast.unparse(subject)) for subject in subjects)


def _is_member(node: ast.expr, kind: Kind) -> bool:
    match node:
        case ast.Attribute(inner, "value"):
            return _is_member(inner, kind)
        case ast.Attribute(owner, member) if member.isupper():
            return _last_name(owner) in kind.enums or member in kind.constants
        case ast.Name(name):
            return name in kind.constants
    return False


def _lists(elements: list[ast.expr], kind: Kind) -> bool:
    if any(_is_member(element, kind) or _last_name(element) in kind.classes for element in elements):
        return True
    texts = [element.value for element in elements if isinstance(element, ast.Constant)]
    listed = [text for text in texts if text in kind.values]
    is_list_of_kinds = len(listed) == len(elements) or any(text in kind.plain for text in listed)
    return len(listed) >= _FEWEST_LISTED and is_list_of_kinds


def _decides(pattern: ast.pattern, subject: ast.expr, kind: Kind) -> bool:
    for node in ast.walk(pattern):
        match node:
            case ast.MatchValue(value) if _is_value(value, kind, [subject]):
                return True
            case ast.MatchClass(ast.Name(name) | ast.Attribute(attr=name)) if name in kind.classes:
                return True
    return False


def _names(node: ast.expr) -> set[str]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return {name for part in parts for name in _last_name(part).split("|")}


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case ast.BinOp(left, ast.BitOr(), right):
            return f"{_last_name(left)}|{_last_name(right)}"
    return ""


def _predicates(modules: Iterable[Module], kind: Kind) -> frozenset[str]:
    """The full names of functions, and `.name` of methods, that are one comparison on the kind."""
    return frozenset(
        f".{function.name}" if function.owner else f"{module.dotted}.{function.name}"
        for module in modules
        for function in definitions(module)
        if (returned := is_single_return(function.node)) is not None and _is_comparison(returned, kind)
    )


def _is_comparison(node: ast.expr, kind: Kind) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _is_comparison(node.operand, kind)
    return isinstance(node, ast.Compare) and _compares(node, kind)


def _uses(module: Module, predicates: frozenset[str]) -> Iterator[Place]:
    imports = imported(module)
    for node in module.nodes:
        match node:
            case ast.Name(name, ast.Load()) if imports.get(name) in predicates:
                yield Place(module.path, node.lineno, f"uses the predicate {name}")
            case ast.Attribute(ast.Name(owner), name) if f"{imports.get(owner)}.{name}" in predicates:
                yield Place(module.path, node.lineno, f"uses the predicate {owner}.{name}")
            case ast.Attribute(_, name, ast.Load()) if f".{name}" in predicates:
                yield Place(module.path, node.lineno, f"uses the predicate .{name}")


def table_names(house: Checkout) -> Iterator[Place]:
    """Yield each place of the product that names a published table."""
    for module in house.product:
        documented = docstring_nodes(module)
        for node in module.nodes:
            if node not in documented and (name := _table(node)):
                yield Place(module.path, node.lineno, f"names {name}")  # type: ignore[attr-defined]  # an expression


def table_lists(house: Checkout) -> Iterator[Place]:
    """Yield each place of the product that lists or maps at least two published tables."""
    for module in house.product:
        for node in module.nodes:
            listed = list(dict.fromkeys(_listed_tables(node)))
            if len(listed) >= _FEWEST_LISTED:
                yield Place(module.path, node.lineno, f"lists {', '.join(listed)}")  # type: ignore[attr-defined]


def _listed_tables(node: ast.AST) -> list[str]:
    match node:
        case ast.Set(elements) | ast.Tuple(elements) | ast.List(elements):
            return [name for element in elements if (name := _table(element))]
        case ast.Dict(keys):
            return [name for key in keys if key is not None and (name := _table(key))]
    return []


def _table(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(str(text)) if text in TABLES:
            return text
        case ast.Name(name, ast.Load()) if name.lower() in TABLES and name.isupper() and name not in _STEPS:
            return name.lower()
        case ast.Attribute(attr=name) if name.lower() in TABLES and name.isupper():
            return name.lower()
        case ast.Name(name, ast.Load()) | ast.Attribute(attr=name) if name in _TABLE_CONSTANTS:
            return name
    return None
