"""Mutants as cases of pytest: a case passes if a test of the judge fails on the mutant.

The files with these cases have names that pytest does not collect unless they are named.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
#: Where measured reaches are kept between pytest processes, a folder for each content of the tree.
REACHES = ROOT / ".proofs" / "reach"
_LONGEST_ID = 120


def cases(folder: str) -> list[object]:
    """Return the mutants of all modules below a folder as parameters. Ids have no line numbers: lines move."""
    params: list[object] = []
    counts = Counter[str]()
    for file in sorted((ROOT / folder).rglob("*.py")):
        for mutant in mutants(file, ROOT):
            name = f"{mutant.path} {mutant.what}"[:_LONGEST_ID]
            counts[name] += 1
            params.append(pytest.param(mutant, id=f"{name} {counts[name]}"))
    return params


@contextmanager
def broken_module(tree: Path, mutant: Mutant) -> Iterator[None]:
    """Put a mutant into the tree, and the whole module back."""
    place = tree / mutant.path
    whole = place.read_text(encoding="utf-8")
    place.write_text(mutant.source, encoding="utf-8")
    try:
        yield
    finally:
        place.write_text(whole, encoding="utf-8")


def kept_reaches(tree: Path) -> Path:
    """Return the folder for the reaches in a tree. A reach has line numbers, so each byte of the code counts."""
    total = hashlib.sha256()
    for folder in ("spark_jobs", "tests"):
        for file in sorted((tree / folder).rglob("*.py")):
            total.update(f"{file.relative_to(tree)}\0".encode() + file.read_bytes())
    return REACHES / total.hexdigest()[:20]
