"""A check is a user's expectation about a staged table: a type of Great Expectations, a table, and arguments.

Arguments are kept as written. Great Expectations checks whether the type exists and takes them.
"""

from __future__ import annotations

import re
from enum import StrEnum

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import Plain, choice, pattern, text
from spark_jobs.pipeline.model import Expectation
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, JOIN_TABLES, RESULT_TABLES
from spark_jobs.pipeline.quarantine import SOURCE_TABLE
from spark_jobs.pipeline.records import Field, ListOf, Record, Rest
from spark_jobs.pipeline.review import hint


class RowFailure(StrEnum):
    """What happens to a row that does not meet an expectation about the source: it is set apart."""

    QUARANTINE = "quarantine"


def _type(value: str) -> str:
    if re.fullmatch(r"expect_[a-z0-9_]+|unexpected_rows_expectation", value) is None:
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", value).lower()
        raise RefusedError(f"did you mean '{snake}'?" if re.match("expect_|unexpected_rows_exp", snake) else "")
    return value


def _table(value: str) -> str:
    tables = tuple(dict.fromkeys((*RESULT_TABLES, *JOIN_TABLES, COMPLETE_TABLE, SOURCE_TABLE)))
    if value not in tables:
        raise RefusedError(hint(value, tables))
    return value


EXPECTATIONS = ListOf(
    Record(
        Expectation,
        fields=(
            Field(
                "type",
                "type",
                text("a type such as expect_column_values_to_be_between").then(_type),
                required=True,
                meaning="Type of the expectation, in snake case.",
            ),
            Field(
                "table",
                "table",
                text(
                    f"one of {', '.join(RESULT_TABLES)}; of a join {', '.join(JOIN_TABLES)}; "
                    f"with replay.mode complete {COMPLETE_TABLE}; {SOURCE_TABLE} with on_failure quarantine"
                ).then(_table),
                meaning="The table that the expectation is about. For a join the default is `pairs`. With `source` "
                "it is about single rows before the replay.",
            ),
            Field(
                "on_failure",
                "quarantines",
                choice(RowFailure).then(bool),
                meaning="What happens to a row of the source that does not meet the expectation.",
            ),
            Field(
                "name",
                "name",
                pattern("a name of lower-case letters, digits and _, a letter first", r"[a-z][a-z0-9_]*"),
                meaning="Reason of the row in `invalid_events`. Without this key, the column and the type.",
            ),
        ),
        rest=Rest("arguments", Plain()),
        what="a mapping with type, table and the expectation's arguments",
    ),
    "a list of expectations such as [{type: expect_column_values_to_not_be_null, column: flights}]",
)
