"""The code of an error: its own, the code of its class, or the code of the error that it replaces."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.error_codes import ErrorCode
from spark_jobs.semantics.rows.event_time import TimeFieldError
from spark_jobs.semantics.rows.partition_labels import PartitionTypeError
from spark_jobs.semantics.watermark.custom import GeneratorError

#: The codes of classes in `spark_jobs.semantics`, which imports nothing but the standard library and itself.
OF_CLASSES: Mapping[type[Exception], ErrorCode] = {
    GeneratorError: ErrorCode.GENERATOR_FAILED,
    PartitionTypeError: ErrorCode.COLUMN_NAME_REFUSED,
    TimeFieldError: ErrorCode.TIME_OF_OTHER_TYPE,
}


def code_of(error: BaseException) -> ErrorCode:
    """Return the code of an error; `UNEXPECTED` for an error of another program."""
    own_code = getattr(error, "code", None)
    if isinstance(own_code, ErrorCode):
        return own_code
    for kind, code in OF_CLASSES.items():
        if isinstance(error, kind):
            return code
    return ErrorCode.UNEXPECTED if error.__cause__ is None else code_of(error.__cause__)
