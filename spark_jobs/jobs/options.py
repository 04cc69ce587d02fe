"""Values of command line options: overrides `dotted.key=value`, times, intervals of windows, durations."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from datetime import UTC, datetime

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import Option
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.durations import parse_duration
from spark_jobs.tables import exchange
from spark_jobs.tables.interval import Interval


def add_exchange(parser: argparse.ArgumentParser) -> None:
    """Add the options by which a job and its caller exchange answers and variables, wherever the driver runs."""
    parser.add_argument(Option.RESULT, help="the JSON file to write the result to, or the address of an object")
    parser.add_argument(
        Option.VARIABLE, type=_variable, action="append", default=[], metavar="NAME=VALUE", help="set a variable"
    )
    parser.add_argument(Option.VARIABLES, help="the address of a JSON object with more variables, which are set too")


def set_variables(options: argparse.Namespace) -> None:
    """Set the variables that the caller has passed to this process. Raises LakeError.

    Those of the command line come first: they name the store in which the object with the rest is.
    """
    os.environ.update(options.variable)
    if options.variables:
        os.environ.update(exchange.read_variables(options.variables))


def _variable(text: str) -> tuple[str, str]:
    """Read `TIDEMARK_LAKE=s3a://company/lake`."""
    name, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"found '{text}', expected NAME=VALUE")
    return name, value


def parse_overrides(pairs: Iterable[str]) -> dict[str, str]:
    """Read `dotted.key=value` pairs as the overrides of a pipeline. Raises InputError for any other text."""
    overrides = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f"{Option.SET}: found '{pair}', expected dotted.key=value, such as windows.size='1 hour'",
                code=ErrorCode.OPTION_WRONG,
            )
        overrides[key.strip()] = value
    return overrides


def parse_moment(text: str) -> datetime:
    """Read an ISO 8601 time, in UTC unless it has an offset. Raises InputError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"found the time '{text}', expected ISO 8601, such as 2013-07-01T00:00:00Z", code=ErrorCode.OPTION_WRONG
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def optional_moment(text: str | None) -> datetime | None:
    """Read a time as `parse_moment` does; None for an option that is absent or empty."""
    return parse_moment(text) if text else None


def parse_interval(start: str | None, end: str | None) -> Interval:
    """Read `[start, end)` of window starts; absent or empty is without bound. Raises InputError."""
    return Interval(optional_moment(start), optional_moment(end))


def parse_seconds(option: str, duration: str) -> float:
    """Read a duration such as `10 minutes` in seconds. Raises InputError."""
    try:
        return parse_duration(duration) / 1000
    except ValueError as problem:
        raise InputError(f"{option}: {problem}", code=ErrorCode.OPTION_WRONG) from None
