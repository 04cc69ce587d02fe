"""Patterns of paths, as in .gitignore: `*` stops at a slash, `**/` is any number of folders, `!` takes paths out again.

The last pattern that matches a path decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

_PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}


def matching(patterns: Sequence[str], paths: Iterable[str]) -> list[str]:
    """Return the paths, in their order, that the patterns choose."""
    return [path for path in paths if _is_chosen(tuple(patterns), path)]


def _is_chosen(patterns: tuple[str, ...], path: str) -> bool:
    for pattern in reversed(patterns):
        if _compiled(pattern.removeprefix("!")).fullmatch(path):
            return not pattern.startswith("!")
    return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*)", pattern)
    return re.compile("".join(_PARTS.get(part, re.escape(part)) for part in parts))
