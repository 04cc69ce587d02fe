"""Syntax: what several measures read from a module's tree: definitions, imports, docstrings and simple functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.house.checkout import Module

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_PROPERTIES = frozenset({"property", "cached_property", "cached_class_property"})


@dataclass(frozen=True)
class Definition:
    """One function or method: `owner` is the class, empty for a function of the module."""

    name: str
    owner: str
    node: Function

    @property
    def is_property(self) -> bool:
        """Whether it is read like a value."""
        names = (getattr(decorator, "attr", getattr(decorator, "id", "")) for decorator in self.node.decorator_list)
        return any(name in _PROPERTIES for name in names)


def definitions(module: Module) -> Iterator[Definition]:
    """Yield the module's functions and the methods of its classes; functions inside functions are left out."""
    yield from _definitions(module.tree.body, "")


def _definitions(body: list[ast.stmt], owner: str) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, Function):
            yield Definition(node.name, owner, node)
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, node.name)


def docstring_of(node: Documented) -> ast.Constant | None:
    """Return the docstring's literal."""
    match node.body:
        case [ast.Expr(ast.Constant(str()) as literal), *_]:
            return literal
    return None


@cache
def docstring_nodes(module: Module) -> set[ast.AST]:
    """Return the literals that are docstrings."""
    return {
        literal for node in module.nodes if isinstance(node, Documented) and (literal := docstring_of(node)) is not None
    }


def is_single_return(node: Function) -> ast.expr | None:
    """Return the expression of a function that does nothing but return it, or None."""
    body = node.body[1:] if docstring_of(node) else node.body
    match body:
        case [ast.Return(ast.expr() as returned)]:
            return returned
    return None


@cache
def imported(module: Module) -> dict[str, str]:
    """Map each imported name to what it stands for: `grid` to `spark_jobs.replay.windows`."""
    names: dict[str, str] = {}
    for node in module.nodes:
        match node:
            case ast.ImportFrom(module=str(source), names=aliases):
                names |= {alias.asname or alias.name: f"{source}.{alias.name}" for alias in aliases}
            case ast.Import(names=aliases):
                names |= {alias.asname: alias.name for alias in aliases if alias.asname}
    return names
