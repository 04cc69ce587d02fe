"""A custom generator is a class of the user's own, found by its name `package.module:Class`; a partition has one each.

    Class(**arguments)            made when the partition joins
    on_event(row, ts, output)     sees a row of the partition behind its judgement; what it emits counts at once
    on_periodic_emit(output)      sees every emission there is, also where no row has come; those of all partitions are
                                  combined together

`row` is a dict of the source's columns, `ts` its event time in milliseconds. `output` has `emit_watermark(ms)`,
`mark_idle()` and `mark_active()`. A generator is code that anyone can get wrong: what it raises, and what it emits that
is no time of a table, is reported under its name. Rules 16-18, 25.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from spark_jobs.semantics.rows.instants import END_OF_INPUT, MIN, floor_to_ms, micros
from spark_jobs.semantics.watermark.generators import WatermarkGenerator, WatermarkOutput

METHODS = ("on_event", "on_periodic_emit")

_EARLIEST_MS = floor_to_ms(micros(datetime(1, 1, 1, tzinfo=UTC)))
_LATEST_MS = floor_to_ms(micros(END_OF_INPUT))


class GeneratorError(ValueError):
    """A custom generator that cannot be found, made or run."""


def new_generator(name: str | None, arguments: Mapping[str, Any]) -> WatermarkGenerator:
    """Make a generator by its class's name. Raises GeneratorError for a class that is not there or cannot be made."""
    if name is None:
        raise GeneratorError("asked for a custom watermark, found no class; give package.module:Class")
    made = _class(name)
    try:
        return _Custom(name, made(**arguments))
    except Exception as problem:
        given = ", ".join(arguments) or "none"
        raise GeneratorError(
            f"asked for the watermark generator '{name}' with the arguments {given}, and making one failed: "
            f"{_told(problem)}; its __init__ takes what watermark.arguments gives"
        ) from problem


def _class(name: str) -> Callable[..., Any]:
    where, _, path = name.partition(":")
    if not where or not path:
        raise GeneratorError(f"asked for the watermark generator '{name}', expected package.module:Class")
    try:
        found: Any = import_module(where)
    except Exception as problem:
        raise GeneratorError(
            f"asked for the watermark generator '{name}', and importing {where} failed: {_told(problem)}; "
            "install it where Tidemark and Spark's workers run, or put its folder on PYTHONPATH"
        ) from problem
    for part in path.split("."):
        if not hasattr(found, part):
            own = [name for name, value in vars(found).items() if getattr(value, "__module__", "") == where]
            there = ", ".join(getattr(found, "__all__", own)) or "none"
            raise GeneratorError(f"asked for the watermark generator '{name}', {where} defines {there}")
        found = getattr(found, part)
    missing = [method for method in METHODS if not callable(getattr(found, method, None))]
    if not isinstance(found, type) or missing:
        lacks = f"has no method {' and no '.join(missing)}" if missing else "is no class"
        raise GeneratorError(
            f"asked for the watermark generator '{name}', which {lacks}; a generator is a class with "
            "on_event(row, ts, output) and on_periodic_emit(output)"
        )
    return found


class _Custom:
    """The user's generator, with its faults reported under its name."""

    def __init__(self, name: str, generator: WatermarkGenerator) -> None:
        self._name = name
        self._generator = generator

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Show the row to the generator."""
        try:
            self._generator.on_event(row, ts, _Checked(output))
        except Exception as problem:
            raise self._failed("on_event", problem) from problem

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Let the generator emit."""
        try:
            self._generator.on_periodic_emit(_Checked(output))
        except Exception as problem:
            raise self._failed("on_periodic_emit", problem) from problem

    def _failed(self, method: str, problem: Exception) -> GeneratorError:
        return GeneratorError(f"the watermark generator '{self._name}' failed in {method}: {_told(problem)}")


class _Checked:
    """An output that takes whole milliseconds within the years of a table; MIN says nothing."""

    def __init__(self, output: WatermarkOutput) -> None:
        self._output = output
        self.mark_idle = output.mark_idle
        self.mark_active = output.mark_active

    def emit_watermark(self, watermark: int) -> None:
        try:
            ms = operator.index(watermark)
        except TypeError:
            raise GeneratorError(f"it emitted {watermark!r}; a watermark is a whole number of milliseconds") from None
        if ms != MIN and not _EARLIEST_MS <= ms <= _LATEST_MS:
            raise GeneratorError(
                f"it emitted {ms} ms since 1970, which is outside the years 1 to 9999; "
                "emit nothing before the first row, and leave the end of the input to replay.end_of_input"
            )
        self._output.emit_watermark(ms)


def _told(problem: Exception) -> str:
    return str(problem) if isinstance(problem, GeneratorError) else f"{type(problem).__name__}: {problem}"
