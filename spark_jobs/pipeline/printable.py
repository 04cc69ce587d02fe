"""Printable text is text of others that a terminal, a log and a database show as it is, and never obey.

Control characters and halves of characters are written as escapes: a pipeline file, a key of a row or a path can
contain both. Line ends stay.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """Return `text` with control characters and half characters as escapes; line ends stay."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else _escape(letter) for letter in text)


def shortened(text: str, longest: int) -> str:
    """Return `text` with at most `longest` characters; the end of a longer text is '...'."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
