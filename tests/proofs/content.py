"""The content of files, as far as it can change what a test does.

Law: two trees have the same digest for some patterns iff the patterns choose the same paths, and each path has the
same content. For Python files content is the syntax tree without positions, comments and docstrings. Docstrings count
in files that print them. Other files count byte by byte. Files count as they are in the working tree, committed or not;
files that git ignores do not.
"""

from __future__ import annotations

import ast
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.proofs.patterns import matching

#: A file with one of these words prints its docstrings: as the help of a command, or by hand.
_PRINTS_DOCSTRINGS = (b"__doc__", b"typer")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Content:
    """The files of a working tree, each read once as long as its size and its time of change stay the same."""

    def __init__(self, root: Path) -> None:
        self._root = root
        git = str(shutil.which("git"))
        command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
        self.paths = sorted({name for name in names.split("\0") if name and (root / name).is_file()})
        self._selections: dict[tuple[str, ...], list[str]] = {}
        self._read: dict[str, tuple[int, int, str]] = {}

    def digest(self, patterns: Sequence[str]) -> str:
        """Return the digest of the files that the patterns choose, as they are now."""
        key = tuple(patterns)
        if key not in self._selections:
            self._selections[key] = matching(key, self.paths)
        lines = [f"{path}\0{self._file(path)}\n" for path in self._selections[key]]
        version = f"{sys.version_info.major}.{sys.version_info.minor}\n"
        return hashlib.sha256("".join([version, *lines]).encode()).hexdigest()[:20]

    def _file(self, name: str) -> str:
        path = self._root / name
        if not path.is_file():
            return "missing"
        state = path.stat()
        state_and_digest = self._read.get(name)
        if state_and_digest is None or state_and_digest[:2] != (state.st_mtime_ns, state.st_size):
            state_and_digest = (state.st_mtime_ns, state.st_size, file_digest(path))
            self._read[name] = state_and_digest
        return state_and_digest[2]


def file_digest(path: Path) -> str:
    """Return the digest of one file's content."""
    content = path.read_bytes()
    if path.suffix == ".py":
        content = _behaviour(content)
    return hashlib.sha256(content).hexdigest()


def _behaviour(source: bytes) -> bytes:
    """Return the part of a Python file that is run. A file that does not parse counts byte by byte."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source
    if not any(word in source for word in _PRINTS_DOCSTRINGS):
        for node in ast.walk(tree):
            if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
    return ast.dump(tree).encode()
