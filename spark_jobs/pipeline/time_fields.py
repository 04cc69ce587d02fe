"""A time field is how a file names a time of a row: a column or expression, and how its values are read.

`ts`; `{column: ts, unit: ms}` for numbers; `{column: ts, format: yyyy-MM-dd, timezone: Europe/Berlin}` for text;
`{column: ts, timezone: Europe/Berlin}` for a local time without a zone, and for a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from zoneinfo import available_timezones

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import choice, text
from spark_jobs.pipeline.model import TimeField, TimeUnit
from spark_jobs.pipeline.records import Either, Field, Record
from spark_jobs.pipeline.review import Facts, hint

# Java's offsets end at 18 hours.
_OFFSET = r"[+-]((0[0-9]|1[0-7]):[0-5][0-9]|18:00)"


def _existing_zone(name: str) -> str:
    zones = available_timezones()
    if name not in zones and re.fullmatch(_OFFSET, name) is None:
        raise RefusedError(hint(name, zones))
    return name


TIMEZONE = text("a time zone such as Europe/Berlin or +02:00").then(_existing_zone)


def _format(pattern: str) -> str:
    if re.search(r"%[a-zA-Z]", pattern):
        raise RefusedError("% is Python's way")
    return pattern


def _read_in_one_way(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.is_written("unit") and facts.is_written("format"):
        yield "format", "contradicts unit: a number has a unit, text has a format; keep one"
    if facts.is_written("timezone") and facts.is_written("unit"):
        yield "timezone", "belongs to text, TIMESTAMP_NTZ and DATE; numbers count from 1970 in UTC"


_UNIT_WORDS = {word: unit.value for unit in TimeUnit for word in (unit.name.lower(), unit.name.lower()[:-1])}
_EXPECTED = "a column or SQL expression, {column, unit} or {column, format, timezone}"

TIME_FIELD = Either(
    _EXPECTED,
    scalar=text(_EXPECTED).then(TimeField),
    block=Record(
        TimeField,
        fields=(
            Field(
                "column",
                "expression",
                text("a column or SQL expression"),
                required=True,
                meaning="Column or SQL expression that contains the time.",
            ),
            Field(
                "unit",
                "unit",
                choice(TimeUnit, hints=_UNIT_WORDS),
                meaning="Unit of a number that counts from 1970-01-01T00:00Z.",
            ),
            Field(
                "format",
                "format",
                text("a Spark datetime pattern such as yyyy-MM-dd HH:mm:ss").then(_format),
                meaning="Pattern of a time that is text.",
            ),
            Field(
                "timezone",
                "timezone",
                TIMEZONE,
                meaning="Time zone of a local time: of text without an offset, of TIMESTAMP_NTZ and of DATE.",
            ),
        ),
        rules=(_read_in_one_way,),
    ),
)
