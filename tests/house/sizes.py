"""Sizes: functions and files that are long, copies of the epoch, and imports between test modules.

- A long function has more than `LONGEST_FUNCTION` lines, from `def` to its last line, decorators apart.
- A long file has more than `LONGEST_FILE` lines. Product and tests are both counted.
- A copy of the epoch is a call `datetime(1970, ...)` in the product.
- An import between test modules takes something from a module `test_*` under `tests/`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.house.checkout import Checkout, Place
from tests.house.syntax import Function

LONGEST_FUNCTION = 40
LONGEST_FILE = 300
_TEST_MODULE = re.compile(r"tests\.(?:\w+\.)*test_\w+")


def long_functions(house: Checkout) -> Iterator[Place]:
    """Yield each long function, the longest first."""
    functions = [
        (node.end_lineno - node.lineno + 1, node, module)
        for module in house.product
        for node in module.nodes
        if isinstance(node, Function) and node.end_lineno is not None
    ]
    for lines, node, module in sorted(functions, key=lambda pair: -pair[0]):
        if lines > LONGEST_FUNCTION:
            yield Place(module.path, node.lineno, f"{node.name}: {lines} lines", module.package)


def long_files(house: Checkout) -> Iterator[Place]:
    """Yield each long file, the longest first."""
    lengths = [(module.source.count("\n"), module) for module in house.modules]
    for lines, module in sorted(lengths, key=lambda pair: -pair[0]):
        if lines > LONGEST_FILE:
            yield Place(module.path, 1, f"{lines} lines", module.package.split(".")[0])


def copies_of_the_epoch(house: Checkout) -> Iterator[Place]:
    """Yield each call that makes the epoch by hand."""
    for module in house.product:
        for node in module.nodes:
            match node:
                case ast.Call(ast.Name("datetime") | ast.Attribute(attr="datetime"), [ast.Constant(1970), *_]):
                    yield Place(module.path, node.lineno, ast.unparse(node), module.package)


def imports_between_tests(house: Checkout) -> Iterator[Place]:
    """Yield each import of one test module by another."""
    for module in house.tests:
        for node in module.nodes:
            names = sorted(name for name in _imported_modules(node) if _TEST_MODULE.fullmatch(name))
            if names:
                yield Place(module.path, node.lineno, f"imports {names[0]}", names[0])  # type: ignore[attr-defined]


def _imported_modules(node: ast.AST) -> set[str]:
    match node:
        case ast.ImportFrom(module=str(source), names=aliases):
            return {source, *(f"{source}.{alias.name}" for alias in aliases)}
        case ast.Import(aliases):
            return {alias.name for alias in aliases}
    return set()
