"""What an exception says down its chain of causes, in Python and behind it in Java.

Spark wraps what went wrong in a task several times, and Py4J once more: the first line tells who called whom, the last
cause what happened.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import Any

# As many as no chain of ours has: a chain in Java may end in itself.
_DEEPEST = 50
_FULL = (errno.ENOSPC, errno.EDQUOT)
_TRACEBACK = "Traceback (most recent call last)"
_FULL_WORDS = ("No space left on device", "Disk quota exceeded", *(os.strerror(code) for code in _FULL))


def causes(problem: BaseException) -> list[str]:
    """What each exception of the chain says, the outermost first; Java's with their class, as Java tells them."""
    found: list[str] = []
    for one in _chain(problem):
        found.append(str(one) or type(one).__name__)
        found.extend(_in_java(one))
    return found


def first_line(problem: BaseException) -> str:
    """One line of what went wrong: of an exception that Py4J has brought from Java the innermost cause's.

    Of one in a worker's Python that which was raised there, behind its traceback.
    """
    from_java = hasattr(problem, "java_exception")
    told = [*_in_java(problem)][-1] if from_java else str(problem).strip() or repr(problem)
    lines = [line for line in told.splitlines() if line.strip()]
    if raised := _raised(lines):
        return raised
    if not from_java:
        return lines[0]
    name, colon, message = lines[0].partition(": ")
    return f"{name.rsplit('.', 1)[-1]}{colon}{message}"


def _raised(lines: list[str]) -> str | None:
    """What the last traceback among the lines ends with, if there is one."""
    found, inside = None, False
    for line in lines:
        if _TRACEBACK in line:
            inside = True
        elif inside and not line.startswith(" "):
            found, inside = line.strip(), False
    return found


def says(problem: BaseException, *words: str) -> bool:
    """Whether some exception of the chain says one of `words`."""
    return any(word in told for told in causes(problem) for word in words)


def is_full_disk(problem: BaseException) -> bool:
    """Whether something could not be written for want of room, on a disk or in a quota, whoever wrote it."""
    return any(isinstance(one, OSError) and one.errno in _FULL for one in _chain(problem)) or says(
        problem, *_FULL_WORDS
    )


def _chain(problem: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = problem
    for _ in range(_DEEPEST):
        if one is None:
            return
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _behind(problem: BaseException) -> Any:
    """The exception in Java that this one stands for: Py4J has it under one name, PySpark under another."""
    return getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)


def _in_java(problem: BaseException) -> Iterator[str]:
    one = _behind(problem)
    for _ in range(_DEEPEST):
        if one is None:
            return
        yield str(one.toString())
        one = one.getCause()
