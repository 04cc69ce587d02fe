"""A custom generator is a user's class, named `package.module:Class`; each partition has its own instance.

    Class(**arguments)            when the partition joins
    on_event(row, ts, output)     for each row of the partition, after the row is judged; what it emits counts at once
    on_periodic_emit(output)      for every emission, even if no row has come; partitions are combined after all emitted

`row` is a dict of the source's columns, `ts` its event time in milliseconds. `output` has `emit_watermark(ms)`,
`mark_idle()` and `mark_active()`. An exception of a generator, and a watermark that no table can contain, are reported
under the name of the class. Rules 16-18, 25.
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
    """A custom generator that cannot be imported, made or run."""


def new_generator(name: str | None, arguments: Mapping[str, Any]) -> WatermarkGenerator:
    """Return a generator of the named class. Raises GeneratorError if it cannot be imported or made."""
    if name is None:
        raise GeneratorError("watermark.strategy custom: found no class; declare package.module:Class")
    generator_class = _class(name)
    try:
        return _Custom(name, generator_class(**arguments))
    except Exception as problem:
        names = ", ".join(arguments) or "none"
        raise GeneratorError(
            f"cannot make the watermark generator '{name}' with the arguments {names}: "
            f"{_message(problem)}; its __init__ takes the arguments in watermark.arguments"
        ) from problem


def _class(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    if not module or not path:
        raise GeneratorError(f"found the watermark generator '{name}', expected package.module:Class")
    try:
        value: Any = import_module(module)
    except Exception as problem:
        raise GeneratorError(
            f"cannot import {module} of the watermark generator '{name}': {_message(problem)}; "
            "install it where Tidemark and Spark's workers run, or put its folder on PYTHONPATH"
        ) from problem
    for part in path.split("."):
        if not hasattr(value, part):
            defined = ", ".join(_public_names(value, module)) or "none"
            raise GeneratorError(f"found no watermark generator '{name}'; {module} defines {defined}")
        value = getattr(value, part)
    missing = [method for method in METHODS if not callable(getattr(value, method, None))]
    if not isinstance(value, type) or missing:
        lacks = f"has no method {' and no '.join(missing)}" if missing else "is no class"
        raise GeneratorError(
            f"the watermark generator '{name}' {lacks}; a generator is a class with "
            "on_event(row, ts, output) and on_periodic_emit(output)"
        )
    return value


def _public_names(owner: Any, module: str) -> list[str]:
    """Return the names that `owner`, a module or class, defines in `module` or exports by `__all__`."""
    exported = getattr(owner, "__all__", ())
    return [n for n, v in vars(owner).items() if n in exported or getattr(v, "__module__", "") == module]


class _Custom:
    """A user's generator; its exceptions are reported under its name."""

    def __init__(self, name: str, generator: WatermarkGenerator) -> None:
        self._name = name
        self._generator = generator

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Pass the row to the generator."""
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
        return GeneratorError(f"the watermark generator '{self._name}' failed in {method}: {_message(problem)}")


class _Checked:
    """An output for whole milliseconds within the years of a table; MIN is passed on and has no effect."""

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


def _message(problem: Exception) -> str:
    return str(problem) if isinstance(problem, GeneratorError) else f"{type(problem).__name__}: {problem}"
