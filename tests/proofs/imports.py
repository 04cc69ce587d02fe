"""The project's files that a file imports, directly or through others, also inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Folders from which the project's modules are imported.
_BASES = (ROOT, ROOT / "plugins")


def with_imports(files: Iterable[str]) -> set[str]:
    """Return the files with all that they import."""
    files_seen, new_files = set[str](), set(files)
    while new_files:
        files_seen |= new_files
        new_files = {name for file in new_files for name in _direct(file)} - files_seen
    return files_seen


@cache
def _direct(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(path for name in _modules(tree) for path in _files(name))


def _modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(module: str) -> Iterator[str]:
    """Yield the file of a module and of each package above it, if they are the project's."""
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        for base in _BASES:
            place = base.joinpath(*parts[:length])
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file.exists():
                    yield str(file.relative_to(ROOT))
