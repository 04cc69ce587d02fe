"""An emission is when the watermark moves on: `{every: 1 minute, phase: 10 s}`, `per_event` or `{every_n: 1000}`."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import duration, text, whole_number
from spark_jobs.pipeline.model import Emit, EmitKind
from spark_jobs.pipeline.records import Either, Field, Record
from spark_jobs.pipeline.review import Facts, hint


def _emit(every: int = 0, phase: int = 0, every_n: int = 0) -> Emit:
    if every_n:
        return Emit(EmitKind.EVERY_N, n=every_n)
    return Emit(EmitKind.EVERY, interval_ms=every, phase_ms=phase)


def _per_event(word: str) -> Emit:
    if word != EmitKind.PER_EVENT.value:
        raise RefusedError(hint(word, [EmitKind.PER_EVENT.value]))
    return Emit(EmitKind.PER_EVENT)


def _one_clock(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.is_written("every") and facts.is_written("every_n"):
        yield "every_n", "contradicts every: the watermark moves by the clock or by the number of rows; keep one"
    elif not facts.is_written("every") and not facts.is_written("every_n"):
        yield "", "found neither every nor every_n; write {every: 1 minute}, {every_n: 1000} or per_event"
    elif facts.is_written("every_n") and facts.is_written("phase"):
        yield "phase", "shifts the clock of every; every_n has no clock"
    every, phase = facts.value("every"), facts.value("phase")
    if isinstance(every, int) and isinstance(phase, int) and phase >= every:
        lengths = f"{format_duration(phase)} is not shorter than every, {format_duration(every)}"
        yield "phase", f"{lengths}; {format_duration(phase % every)} gives the same clock"


_EXPECTED = "{every: 1 minute}, {every_n: 1000} or per_event"

EMISSION = Either(
    _EXPECTED,
    scalar=text(_EXPECTED).then(_per_event),
    block=Record(
        _emit,
        fields=(
            Field(
                "every",
                "every",
                duration("a duration longer than 0, such as '1 minute'", least_ms=1),
                meaning="Interval between two emissions, on the arrival clock.",
            ),
            Field(
                "phase",
                "phase",
                duration(),
                meaning="Shift of the emissions from 1970-01-01T00:00Z; shorter than `every`.",
            ),
            Field(
                "every_n",
                "every_n",
                whole_number("a number of rows, at least 1", least=1),
                meaning="Number of rows between two emissions.",
            ),
        ),
        rules=(_one_clock,),
    ),
)
