"""Overrides given on a command line: `dotted.key=value`."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.jobs.errors import InputError


def parse_overrides(pairs: Iterable[str]) -> dict[str, str]:
    """`dotted.key=value` pairs as the overrides of a pipeline. Raises InputError for anything else."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set: found '{pair}', expected dotted.key=value, such as windows.size='1 hour'")
        found[key.strip()] = value
    return found
