"""Banned: the words of `banned_words.toml`, and where a text or name has one.

In a text the longest match counts, once a place. In a name a word counts once, however often the module uses it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from tests.house.names import Name
from tests.house.sentences import Passage, sentences
from tests.house.texts import Text

WORDS_FILE = Path(__file__).with_name("banned_words.toml")
_NO_VARIABLES = frozenset({"field", "module", "class"})


@dataclass(frozen=True)
class Ban:
    """One banned word."""

    word: str
    why: str
    instead: str
    pattern: str = ""
    names: Literal["", "part", "whole"] = ""
    name_pattern: str = ""
    keywords: str = ""
    unless: str = ""

    @cached_property
    def in_text(self) -> re.Pattern[str] | None:
        """The expression for texts; blanks also match the end of a line."""
        return re.compile(rf"\b(?:{_on_lines(self.pattern)})\b", re.IGNORECASE) if self.pattern else None

    @cached_property
    def in_names(self) -> re.Pattern[str]:
        """The expression for one part of a name, or for all of it."""
        return re.compile(self.name_pattern or self.pattern, re.IGNORECASE)

    @cached_property
    def allowed(self) -> re.Pattern[str] | None:
        """The expression for sentences that may have the word."""
        return re.compile(self.unless, re.IGNORECASE) if self.unless else None


class Hit(NamedTuple):
    """A banned word at a line."""

    line: int
    word: str
    ban: Ban

    def __str__(self) -> str:
        """Format the hit as the lint prints it."""
        return f"'{self.word}' is banned: {self.ban.instead}"


def _on_lines(pattern: str) -> str:
    """Let each blank outside a lookbehind match a line's end too."""
    return re.sub(r"(?<!\\bIs)(?<!\\bAre) ", r"\\s+", pattern)


@cache
def bans() -> tuple[Ban, ...]:
    """Read the banned words."""
    return tuple(Ban(**entry) for entry in tomllib.loads(WORDS_FILE.read_text(encoding="utf-8"))["banned"])


def hits_in_text(text: Text) -> Iterator[Hit]:
    """Yield the banned words of a text."""
    for ban in bans():
        for match in ban.in_text.finditer(text.text) if ban.in_text else ():
            if ban.allowed is None or not ban.allowed.search(_sentence_at(text, match.start())):
                yield Hit(text.line_of(match.start()), " ".join(match.group().split()), ban)


def _sentence_at(text: Text, position: int) -> str:
    """Return the sentence that a position is in."""
    return next(
        (
            sentence.text
            for sentence in sentences(Passage(0, text.text))
            if sentence.position <= position < sentence.position + len(sentence.text)
        ),
        text.text,
    )


def hits_in_name(name: Name) -> Iterator[Hit]:
    """Yield the banned words of a name."""
    for ban in bans():
        if _is_hit(name, ban):
            yield Hit(name.line, name.name, ban)


def _is_hit(name: Name, ban: Ban) -> bool:
    if ban.names == "part":
        return any(ban.in_names.fullmatch(part) for part in name.parts)
    is_variable = name.role not in _NO_VARIABLES and not name.name.isupper()
    if name.role == "keyword" and re.fullmatch(ban.keywords, name.name):
        return False
    return ban.names == "whole" and is_variable and ban.in_names.fullmatch(name.name.lstrip("_")) is not None
