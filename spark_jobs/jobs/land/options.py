"""The options of a landing that are text on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.land.folder import Format


def format_of(text: str) -> Format | None:
    """Return the format of this name; None for no text. Raises InputError."""
    if not text:
        return None
    try:
        return Format(text.lower())
    except ValueError as problem:
        raise InputError(
            f"--format: found '{text}', expected {', '.join(Format)}", code=ErrorCode.OPTION_WRONG
        ) from problem


def reader_options(texts: Sequence[str]) -> dict[str, str]:
    """Return options of Spark's reader from `name=value`. Raises InputError for a text without a name."""
    options = {}
    for text in texts:
        name, found_mark, value = text.partition("=")
        if not name or not found_mark:
            raise InputError(
                f"--option: found '{text}', expected name=value, such as sep=;", code=ErrorCode.OPTION_WRONG
            )
        options[name] = value
    return options
