"""Checkout: the product modules, templates, tests and documents of one folder, each read and parsed once.

Product is every Python file outside `tests/`, and a template every HTML file. A document is a Markdown file. Hidden
folders, environments and what builds and runs write are left out. Paths are relative to the root, with forward slashes.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

_NEVER = frozenset({"__pycache__", "node_modules"})
#: What builds and runs write into the checkout's own folder.
_NEVER_AT_TOP = frozenset({"build", "dist", "lake", "metastore_db", "reports", "site", "spark-warehouse"})
#: Folders that hold import packages; a module's dotted name begins below them.
_SOURCE_ROOTS = ("plugins/", "src/")


@dataclass(frozen=True, order=True)
class Place:
    """One counted place: `line` counts from 1, `group` is what a table sums over."""

    path: str
    line: int
    text: str
    group: str = ""

    def __str__(self) -> str:
        """Format the place as editors and terminals link it."""
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Module:
    """One Python file."""

    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree. Raises SyntaxError for a file that Python cannot read."""
        return ast.parse(self.source, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return list(ast.walk(self.tree))

    @property
    def name(self) -> str:
        """The file's name without `.py`."""
        return PurePosixPath(self.path).stem

    @property
    def dotted(self) -> str:
        """The name that an import statement uses."""
        path = self.path
        for root in _SOURCE_ROOTS:
            path = path.removeprefix(root)
        return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def package(self) -> str:
        """The part of the project: the first two folders of the dotted name."""
        return ".".join(self.dotted.split(".")[:-1][:2]) or self.dotted.split(".")[0]


@dataclass(frozen=True)
class Template:
    """One HTML file that Jinja fills in."""

    path: str
    source: str


@dataclass(frozen=True)
class Document:
    """One Markdown file."""

    path: str
    source: str


class Checkout:
    """All files of one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All files, in order."""
        return tuple(sorted(_walk(self.root)))

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """All Python files."""
        return tuple(Module(path, self.read(path)) for path in self.paths if path.endswith(".py"))

    @cached_property
    def product(self) -> tuple[Module, ...]:
        """The Python files that are not tests."""
        return tuple(module for module in self.modules if not module.path.startswith("tests/"))

    @cached_property
    def templates(self) -> tuple[Template, ...]:
        """The HTML files that are not of tests."""
        paths = (path for path in self.paths if path.endswith(".html") and not path.startswith("tests/"))
        return tuple(Template(path, self.read(path)) for path in paths)

    @cached_property
    def tests(self) -> tuple[Module, ...]:
        """The Python files under `tests/`."""
        return tuple(module for module in self.modules if module.path.startswith("tests/"))

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The Markdown files."""
        return tuple(Document(path, self.read(path)) for path in self.paths if path.endswith(".md"))

    def read(self, path: str) -> str:
        """Read a file as text."""
        return (self.root / path).read_text(encoding="utf-8")


def _walk(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        never = _NEVER | _NEVER_AT_TOP if Path(folder) == root else _NEVER
        folders[:] = [name for name in folders if not name.startswith(".") and name not in never]
        for name in files:
            yield (Path(folder) / name).relative_to(root).as_posix()
