"""Names: what a module defines, once a scope: functions, classes, parameters, variables, attributes and aliases.

A field is a name in a class's body. It is a key of the pipeline file or a column, so that it may have a name that a
variable may not. A keyword is a keyword-only parameter of a public function. The file's own name counts as the name of
a module, on line 1. A template defines the variables of its loops, assignments and macros.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from jinja2 import Environment, nodes

from tests.house.checkout import Module, Template

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Name(NamedTuple):
    """One definition; `role` is variable, keyword, field, attribute, function, class, alias or module."""

    line: int
    name: str
    role: str

    @property
    def parts(self) -> list[str]:
        """The words that the name consists of, in lower case."""
        return [part.lower() for part in _PART.findall(self.name)]


@cache
def names(module: Module) -> tuple[Name, ...]:
    """Return the names that a module defines."""
    return (Name(1, module.name, "module"), *_names_in(module.tree))


@cache
def names_of_template(template: Template) -> tuple[Name, ...]:
    """Return the variables that a template defines."""
    syntax = Environment(autoescape=True).parse(template.source, filename=template.path)
    defined = (node for node in syntax.find_all(nodes.Name) if node.ctx in ("store", "param"))
    return tuple(Name(node.lineno, node.name, "variable") for node in defined)


def _names_in(scope: _Scope) -> Iterator[Name]:
    yielded: set[tuple[str, str]] = set()
    keywords = _keywords(scope)
    for node in _own_nodes(scope):
        for definition in _defined(node, is_class_body=isinstance(scope, ast.ClassDef), keywords=keywords):
            if (definition.name, definition.role) not in yielded:
                yielded.add((definition.name, definition.role))
                yield definition
        if isinstance(node, _Scope):
            yield from _names_in(node)


def _keywords(scope: _Scope) -> Sequence[ast.AST]:
    """Return the parameters that a caller of a public function names."""
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) and not scope.name.startswith("_"):
        return scope.args.kwonlyargs
    return ()


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, and inner scopes without what is in them."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _Scope):
            yield from _own_nodes(child)


def _defined(node: ast.AST, *, is_class_body: bool, keywords: Sequence[ast.AST]) -> Iterator[Name]:
    match node:
        case ast.ClassDef(name):
            yield Name(node.lineno, name, "class")
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
            yield Name(node.lineno, name, "function")
        case ast.arg(name) if node in keywords:
            yield Name(node.lineno, name, "keyword")
        case ast.arg(name) | ast.Name(name, ast.Store()):
            yield Name(node.lineno, name, "field" if is_class_body else "variable")
        case ast.Attribute(ast.Name("self"), name, ast.Store()):
            yield Name(node.lineno, name, "attribute")
        case ast.alias(asname=str(name)):
            yield Name(node.lineno, name, "alias")
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield Name(node.lineno, name, "variable")
