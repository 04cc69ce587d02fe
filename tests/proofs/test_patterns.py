"""Patterns choose paths as .gitignore does."""

from __future__ import annotations

import pytest

from tests.proofs.patterns import matching

PATHS = ["a.py", "src/a.py", "src/deep/a.py", "src/deep/b.txt", "srcs/a.py"]


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["a.py"], ["a.py"]),
        (["src/*"], ["src/a.py"]),
        (["src/**"], ["src/a.py", "src/deep/a.py", "src/deep/b.txt"]),
        (["**/a.py"], ["a.py", "src/a.py", "src/deep/a.py", "srcs/a.py"]),
        (["src/**/a.py"], ["src/a.py", "src/deep/a.py"]),
        (["src/**", "!src/deep/**"], ["src/a.py"]),
        (["src/**", "!src/deep/**", "src/deep/b.txt"], ["src/a.py", "src/deep/b.txt"]),
        (["aXpy"], []),
    ],
)
def test_the_last_pattern_that_matches_decides(patterns: list[str], chosen: list[str]) -> None:
    assert matching(patterns, PATHS) == chosen
