"""A schedule is when a pipeline runs: five cron fields (minute, hour, day of month, month, day of week) or a preset."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from croniter import CroniterError, croniter

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.review import hint

PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")


def schedule(text: str) -> str:
    """Accept a schedule that has a next time. Raises RefusedError."""
    if text.startswith("@"):
        if text not in PRESETS:
            raise RefusedError(hint(text, PRESETS))
        return text
    fields = text.split()
    # croniter takes R as a random number: another one in every process that reads the file.
    if re.search(r"(?<![a-z])[rh](?![a-z])", text.lower()):
        raise RefusedError("R and H stand for no fixed time")
    if len(fields) != 5:
        raise RefusedError(f"it has {len(fields)} fields instead of 5")
    try:
        croniter(" ".join(fields), datetime(2000, 1, 1, tzinfo=UTC)).get_next(datetime)
    except (CroniterError, ValueError) as wrong:
        raise RefusedError(str(wrong)) from wrong
    return " ".join(fields)
