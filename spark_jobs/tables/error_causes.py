"""The messages of an exception and of its chain of causes, in Python and in Java.

Spark wraps the error of a task several times, and Py4J wraps it once more. The first message names the callers, the
last one the cause.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from typing import Any

# A limit for the length of a chain: a Java exception may be its own cause.
_MAX_CAUSES = 50
_NATIVE_CLASSES = "org.apache.comet."
# Conditions of a value that an expression cannot take. Comet computes both sides of AND, and all branches of CASE, for
# rows that Spark computes one of them for. Then these are conditions of a text or bytes that are no UTF-8.
_OF_A_VALUE = (
    *("ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW", "CANNOT_PARSE_DECIMAL", "CANNOT_PARSE_TIMESTAMP"),
    *("CAST_INVALID_INPUT", "CAST_OVERFLOW", "COLLECTION_SIZE_LIMIT_EXCEEDED", "DATETIME_FIELD_OUT_OF_BOUNDS"),
    *("DATETIME_OVERFLOW", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "DIVIDE_BY_ZERO", "DUPLICATED_MAP_KEY"),
    *("ILLEGAL_DAY_OF_WEEK", "INTERVAL_ARITHMETIC_OVERFLOW", "INTERVAL_DIVIDED_BY_ZERO", "INVALID_ARRAY_INDEX"),
    *("INVALID_ARRAY_INDEX_IN_ELEMENT_AT", "INVALID_BITMAP_POSITION", "INVALID_DATETIME_PATTERN"),
    *("INVALID_FRACTION_OF_SECOND", "INVALID_INDEX_OF_ZERO", "INVALID_PARAMETER_VALUE", "NULL_MAP_KEY"),
    *("NUMERIC_OUT_OF_SUPPORTED_RANGE", "NUMERIC_VALUE_OUT_OF_RANGE", "REMAINDER_BY_ZERO"),
    *("INVALID_UTF8_STRING", "MALFORMED_CHARACTER_CODING"),
)
_VALUE = re.compile(rf"\[({'|'.join(_OF_A_VALUE)})(\.\w+)*\]")
_MISSING_FILE = "FAILED_READ_FILE.FILE_NOT_EXIST"
# What Hadoop answers for a scheme that no class serves, and for Azure's scheme, whose class it always names.
_NO_CONNECTOR = re.compile(r'No FileSystem for scheme "(\w+)"|Class org\.apache\.hadoop\.fs\.(azurebfs)\.\w+ not found')
#: What to do if Spark lacks the connector of a store.
NAME_CONNECTOR = "name the connector's jar in Spark's settings (spark.jars)"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_TRACEBACK = "Traceback (most recent call last)"
_FULL_WORDS = ("No space left on device", "Disk quota exceeded", *(os.strerror(code) for code in _FULL))


def causes(problem: BaseException) -> list[str]:
    """Return the message of each exception of the chain, the outermost first. Java's messages include the class."""
    messages: list[str] = []
    for exception in _chain(problem):
        messages.append(str(exception) or type(exception).__name__)
        messages.extend(_java_messages(exception))
    return messages


def first_line(problem: BaseException) -> str:
    """Return the cause in one line.

    For an exception from Java, this is the innermost cause. For an error in a Python worker, it is the exception after
    the worker's traceback. For a store whose connector Spark lacks, it is the scheme.
    """
    if scheme := scheme_without_connector(problem):
        return f"Spark has no connector for {scheme}://"
    from_java = hasattr(problem, "java_exception")
    message = [*_java_messages(problem)][-1] if from_java else str(problem).strip() or repr(problem)
    lines = [line for line in message.splitlines() if line.strip()]
    if raised := _raised(lines):
        return raised
    if not from_java:
        return lines[0]
    name, colon, rest = lines[0].partition(": ")
    return f"{name.rsplit('.', 1)[-1]}{colon}{rest}"


def _raised(lines: list[str]) -> str | None:
    """Return the exception line of the last traceback in the lines; None without a traceback."""
    last, inside = None, False
    for line in lines:
        if _TRACEBACK in line:
            inside = True
        elif inside and not line.startswith(" "):
            last, inside = line.strip(), False
    return last


def mentions(problem: BaseException, *words: str) -> bool:
    """Return whether a message of the chain contains one of `words`."""
    return any(word in message for message in causes(problem) for word in words)


def is_native(problem: BaseException) -> bool:
    """Return whether the native engine may be why it failed, so that Spark alone may succeed.

    The engine itself failed, or a value was refused that Spark might not have computed. A missing file is neither.
    """
    messages = causes(problem)
    failed = any(_NATIVE_CLASSES in message or _VALUE.search(message) for message in messages)
    return failed and not any(_MISSING_FILE in message for message in messages)


def scheme_without_connector(problem: BaseException) -> str | None:
    """Return the scheme of an address, such as `gs`, for which Spark lacks the class; None for another problem."""
    for message in causes(problem):
        if missing := _NO_CONNECTOR.search(message):
            return "abfss" if missing[2] else missing[1]
    return None


def is_full_disk(problem: BaseException) -> bool:
    """Return whether a process could not write because a disk or a quota was full."""
    return any(
        isinstance(exception, OSError) and exception.errno in _FULL for exception in _chain(problem)
    ) or mentions(problem, *_FULL_WORDS)


def _chain(problem: BaseException) -> Iterator[BaseException]:
    exception: BaseException | None = problem
    for _ in range(_MAX_CAUSES):
        if exception is None:
            return
        yield exception
        exception = exception.__cause__ or (None if exception.__suppress_context__ else exception.__context__)


def _java_exception(problem: BaseException) -> Any:
    """Return the Java exception behind a Python exception. Py4J and PySpark use different attributes."""
    return getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)


def _java_messages(problem: BaseException) -> Iterator[str]:
    exception = _java_exception(problem)
    for _ in range(_MAX_CAUSES):
        if exception is None:
            return
        yield str(exception.toString())
        exception = exception.getCause()
