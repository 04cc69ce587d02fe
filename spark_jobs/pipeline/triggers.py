"""A trigger is when a window fires: `event_time`, `{continuous: 5 minutes}` or `{count: 1000}`."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import duration, text, whole_number
from spark_jobs.pipeline.model import Trigger, TriggerKind
from spark_jobs.pipeline.records import Either, Field, Record
from spark_jobs.pipeline.review import Facts, hint

_WORDS = tuple(kind.value for kind in TriggerKind)
#: Flink's other triggers, which this version does not have.
_LATER = ("processing_time", "end_of_stream", "delta", "custom")


def _trigger(continuous: int = 0, count: int = 0) -> Trigger:
    if count:
        return Trigger(TriggerKind.COUNT, n=count)
    return Trigger(TriggerKind.CONTINUOUS, interval_ms=continuous)


def _word(word: str) -> Trigger:
    if word == TriggerKind.EVENT_TIME.value:
        return Trigger()
    if word == "purging":
        raise RefusedError("write windows.accumulation discarding, with any trigger")
    if word in _LATER:
        raise RefusedError("it is not supported by this version")
    if word == TriggerKind.CONTINUOUS.value:
        raise RefusedError("write how often, as in {continuous: 5 minutes}")
    if word == TriggerKind.COUNT.value:
        raise RefusedError("write how many rows, as in {count: 1000}")
    raise RefusedError(hint(word, _WORDS, _LATER))


def _one_way(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.is_written("continuous") and facts.is_written("count"):
        yield "count", "contradicts continuous: a window fires by the watermark or by the number of rows; keep one"
    # Where another key was written, it is unknown and refused as that.
    elif not any(key.startswith(f"{facts.key}.") for key in facts.review.places):
        yield "", f"found neither continuous nor count; write {_EXPECTED}"


_EXPECTED = "event_time, {continuous: 5 minutes} or {count: 1000}"

TRIGGER = Either(
    _EXPECTED,
    scalar=text(_EXPECTED).then(_word),
    block=Record(
        _trigger,
        fields=(
            Field(
                "continuous",
                "continuous",
                duration("a duration longer than 0, such as '5 minutes'", least_ms=1),
                meaning="Interval in event time: a window also fires at each multiple of it.",
            ),
            Field(
                "count",
                "count",
                whole_number("a number of rows, at least 1", least=1),
                meaning="Number of rows of a key and window after which the window fires.",
            ),
        ),
        rules=(_one_way,),
        later=_LATER,
    ),
)
