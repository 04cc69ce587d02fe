"""Milliseconds as the TIMESTAMPs of the published tables (UTC).

MIN (no watermark yet) is null. MAX (the end of the input) is 9999-12-31T23:59:59.999Z, Python's last millisecond.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.semantics.rows.instants import EPOCH

END_OF_INPUT_MS = 253_402_300_799_999


def from_millis(ms: Column) -> Column:
    """TIMESTAMP of a nullable long of milliseconds."""
    return F.timestamp_millis(ms)


def end_of_input() -> Column:
    """Return the TIMESTAMP of the watermark MAX."""
    return F.timestamp_millis(F.lit(END_OF_INPUT_MS))


def literal_millis(moment: datetime) -> int:
    """Milliseconds of an aware datetime, floored."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


def moment(ms: int) -> datetime:
    """Return the aware datetime of milliseconds."""
    return EPOCH + timedelta(milliseconds=ms)
