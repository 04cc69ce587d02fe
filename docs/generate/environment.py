"""Environment variables that the product reads, found in its code.

A name counts if a module reads it from a mapping of variables: `os.environ`, or an argument with a name below.
In a module that reads variables in a loop, the names in its constants count too.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PRODUCT = ("spark_jobs", "plugins", "expectations", "dags", "docker")
_MAPPINGS = frozenset({"environ", "environment", "variables", "base"})
_READS = frozenset({"get", "pop", "setdefault"})
_NAME = re.compile(r"_?[A-Z][A-Z0-9]*(?:_+[A-Z0-9]+)+|PATH")
_OURS = re.compile(r"TIDEMARK_[A-Z_]*[A-Z]")
_IN_COMPOSE = re.compile(r"\$\{(TIDEMARK_\w+)")


@cache
def readers() -> Mapping[str, tuple[str, ...]]:
    """Return the files that read each variable, by its name."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in _python()}
    constants = {name: value for tree in trees.values() for name, value in _constants(tree)}
    paths: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        for name in {*_read(tree, constants), *_declared(tree)}:
            paths[name].add(path.relative_to(_ROOT).as_posix())
    for path in sorted((_ROOT / "docker").glob("*.y*ml")):
        for name in _IN_COMPOSE.findall(path.read_text(encoding="utf-8")):
            paths[name].add(path.relative_to(_ROOT).as_posix())
    return {name: tuple(sorted(paths[name])) for name in sorted(paths)}


def _python() -> Iterator[Path]:
    for folder in _PRODUCT:
        yield from sorted((_ROOT / folder).rglob("*.py"))


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the constants of a module that are text, by the names that other modules import."""
    for target, value in (pair for node in tree.body for pair in _pairs(node)):
        match target, value:
            case ast.Name(name), ast.Constant(str(text)):
                yield name, text


def _pairs(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets of an assignment with their values."""
    match node:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
            yield from zip(targets, values, strict=False)
        case ast.Assign([target], value):
            yield target, value


def _read(tree: ast.Module, constants: Mapping[str, str]) -> Iterator[str]:
    """Yield the names that a module reads from a mapping of variables."""
    own = {**constants, **dict(_constants(tree))}
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(mapping, attr=method), [key, *_]) if method in _READS and _is_mapping(mapping):
                yield from _names(key, own)
            case ast.Subscript(mapping, key, ast.Load()) if _is_mapping(mapping):
                yield from _names(key, own)
            case ast.Compare(key, [ast.In() | ast.NotIn()], [mapping]) if _is_mapping(mapping):
                yield from _names(key, own)
            case ast.Constant(str(text)) if _OURS.fullmatch(text):
                yield text


def _names(key: ast.expr, constants: Mapping[str, str]) -> Iterator[str]:
    match key:
        case ast.Constant(str(text)):
            yield text
        case ast.Name(name) if _NAME.fullmatch(constants.get(name, "")):
            yield constants[name]


def _declared(tree: ast.Module) -> Iterator[str]:
    """Yield the names in the constants of a module that reads variables in a loop."""
    if not any(_is_loop(node) for node in ast.walk(tree)):
        return
    for node in tree.body:
        for part in ast.walk(node.value) if isinstance(node, ast.Assign) else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and _NAME.fullmatch(part.value):
                yield part.value


def _is_loop(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(mapping, attr="items"), []):
            return _is_mapping(mapping)
        case ast.Call(ast.Attribute(mapping, attr="get"), [ast.Name(name), *_]):
            return _is_mapping(mapping) and not name.isupper()
    return False


def _is_mapping(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(ast.Name("os"), "environ"):
            return True
        case ast.Name(name):
            return name in _MAPPINGS
    return False
