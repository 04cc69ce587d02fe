"""The code of an error: given where the error is raised, by its class, or by the first line of its message.

Many errors share the class `InputError`, and their messages distinguish them. The first pattern that the first line of
a message contains decides. Each message of the product has a code: `tests/test_code_of_error.py` reads all of them.
Standard library only.
"""

from __future__ import annotations

import re

from spark_jobs.error_codes import ErrorCode

#: The codes of classes that cannot import the codes.
OF_CLASSES = {
    "GeneratorError": ErrorCode.GENERATOR_FAILED,
    "TimeFieldError": ErrorCode.TIME_OF_OTHER_TYPE,
    "UnsupportedPipelineError": ErrorCode.NOT_SUPPORTED,
}
_PATTERNS = tuple(
    (code, re.compile("|".join(texts)))
    for code, *texts in (
        (ErrorCode.GENERATOR_FAILED, r"watermark\.class: "),
        (ErrorCode.STAGED_TABLES_MISSING, r"; stage the run again", r"; run the replay step again"),
        (ErrorCode.LIVE_TABLE_BROKEN, r"quality\.compare_with[.:]"),
        (ErrorCode.EXPECTATION_BROKEN, r"quality\.drift\.measures: "),
        (
            ErrorCode.FILES_NOT_LANDED,
            r"^FOLDER: ",
            r"^TABLE: ",
            r": the files have a column ",
            r": another program has ",
        ),
        (ErrorCode.FILE_NOT_WRITTEN, r": exists already\. ", r": cannot be written: ", r"^--write: ", r"^no answer: "),
        (ErrorCode.NO_DRAFT, r": no pipeline file can be drafted: ", r": no column was recognized as a time"),
        (ErrorCode.NO_DRAFT, r"a pipeline is drafted from its rows", r": no column of the table has this name\. "),
        (ErrorCode.NO_DRAFT, r": is not a time: ", r"a pipeline needs an event time", r"\. Name another column$"),
        (ErrorCode.PROJECT_NOT_WRITTEN, r"cannot write the project to ", r"name a new or an empty folder"),
        (ErrorCode.TABLE_MADE_ANEW, r"was deleted and made anew"),
        (ErrorCode.TYPES_CHANGED, r"--from and --to: columns of "),
        (ErrorCode.WINDOWS_CUT, r"an interval which holds no window", r" cuts a "),
        (ErrorCode.OTHER_RESULTS_PUBLISHED, r"--from and --to: ", r"has published results of other settings"),
        (ErrorCode.ARRIVED_TO_REFUSED, r"--arrived-to: cannot", r"rows have no arrival in replay\.order"),
        (ErrorCode.ARRIVED_TO_REFUSED, r": not in whole milliseconds", r": lies in the future"),
        (ErrorCode.WINDOWS_STILL_OPEN, r"has closed all windows at the end of its input"),
        (ErrorCode.RUN_UNKNOWN, r"is not in \S+/runs\b"),
        (ErrorCode.RUN_OF_OTHER_SETTINGS, r"was planned with other settings"),
        (ErrorCode.FILES_REMOVED, r"maintenance has removed", r"cannot go back to "),
        (
            ErrorCode.RUN_NOT_PUBLISHED,
            r" is not published\. Published runs",
            r" have no column ",
            r"is a rollback: give",
        ),
        (ErrorCode.NOT_ENOUGH_PUBLISHED, r"nothing is published in ", r": found none\. Replay first"),
        (ErrorCode.NOT_ENOUGH_PUBLISHED, r"two published runs are needed", r"no run was published before"),
        (ErrorCode.RUN_STATE_WRONG, r": run \S+ is .+; ", r": requested .+ of run .+, found "),
        (ErrorCode.NOT_COMPARABLE, r"^compare: the pipeline has a join", r"has no limit of missed rows"),
        (ErrorCode.NOT_COMPARABLE, r": advise cannot weigh it exactly"),
        (ErrorCode.RETENTION_TOO_SHORT, r"^--retain .*: too short"),
        (ErrorCode.FOREIGN_COMMIT, r"has changed rows, and is of no run in the ledger"),
        (ErrorCode.NOT_A_DELTA_TABLE, r"is not a Delta table"),
        (ErrorCode.VERSION_REMOVED, r"source\.table: version .* was planned"),
        (ErrorCode.TABLE_UNREADABLE, r"source\.table: .* cannot be read "),
        (
            ErrorCode.COMMITS_UNKNOWN,
            r"replay\.order: the log of ",
            r"replay\.order: cannot read ",
            r"replay\.order: in ",
        ),
        (ErrorCode.COMMITS_UNKNOWN, r"a replay in commit order needs it"),
        (
            ErrorCode.SOURCES_DIFFER,
            r"columns have different types",
            r"for the name of a row's source",
            r"cannot compare ",
        ),
        (ErrorCode.COLUMN_NAME_REFUSED, r"has a column of this name already", r"prefix of Tidemark's working columns"),
        (ErrorCode.COLUMN_NAME_REFUSED, r"cannot be grouped by a MAP or VARIANT"),
        (ErrorCode.COLUMN_UNKNOWN, r" has no column '", r": no column of .* matches "),
        (ErrorCode.NO_ROWS_TO_WEIGH, r"has no row with usable times", r"keeps no row to weigh"),
        (
            ErrorCode.TIMES_UNUSABLE,
            r"sampled rows of .* have no usable time",
            r"The unit is probably finer than declared",
        ),
        (
            ErrorCode.TIME_OF_OTHER_TYPE,
            r", declared with ",
            r": an offset is an integer",
            r"source\.offset: not declared",
        ),
        (ErrorCode.SUM_OVERFLOW, r": a sum is greater than its type can hold"),
        (ErrorCode.NOT_SUPPORTED, r": not supported", r": does not support aggregates", r"cannot align partitions"),
        (ErrorCode.NOT_SUPPORTED, r"Call interval_join or window_join"),
        (
            ErrorCode.OPTION_WRONG,
            r"^--[a-z-]+\b.*: ",
            r"^found the time ",
            r": needs --run-id",
            r"^--run\b",
            r"^audit ",
        ),
        (ErrorCode.SQL_REFUSED, r": found .* in '.*'\. (An expression|A condition|A query) ", r", not a condition$"),
        (ErrorCode.SQL_REFUSED, r"is no value of one row", r"differs from one reading to the next"),
        (ErrorCode.SQL_REFUSED, r"(source|watermark|windows|join|quality)[\w.\[\]]*: (\[[A-Z_.]+\]|the source )"),
    )
)


def code_of(error: BaseException) -> ErrorCode:
    """Return the code of an error; `UNEXPECTED` for an error of another program."""
    return _code_or_none(error) or ErrorCode.UNEXPECTED


def code_of_message(message: str) -> ErrorCode | None:
    """Return the code that the first line of a message names; None if no pattern matches."""
    first = message.partition("\n")[0]
    return next((code for code, pattern in _PATTERNS if pattern.search(first)), None)


def _code_or_none(error: BaseException) -> ErrorCode | None:
    own_code = getattr(error, "code", None)
    if isinstance(own_code, ErrorCode):
        return own_code
    of_class = OF_CLASSES.get(type(error).__name__)
    if of_class is not None:
        return of_class
    if not any(kind.__name__ in _BY_MESSAGE for kind in type(error).__mro__):
        return None
    # An error that replaces another one has its message, and often a place in front.
    return code_of_message(str(error)) or (None if error.__cause__ is None else _code_or_none(error.__cause__))


_BY_MESSAGE = ("InputError", "SourceError")
