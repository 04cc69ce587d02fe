"""A schedule is when a pipeline runs: five cron fields (minute, hour, day of month, month, day of week), or a preset.

Or `{assets: [...]}`: whenever Airflow's assets of these names or URIs have been updated, all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from croniter import CroniterError, croniter

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import text
from spark_jobs.pipeline.model import AssetSchedule
from spark_jobs.pipeline.records import Either, Field, ListOf, Record
from spark_jobs.pipeline.review import Facts, hint

#: What Airflow keeps of an asset's name.
_LONGEST_ASSET = 1500
_RESERVED_ASSETS = ("self", "context")

PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")


def cron(text: str) -> str:
    """Accept cron fields or a preset that have a next time. Raises RefusedError."""
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


def _asset(name: str) -> str:
    if len(name) > _LONGEST_ASSET:
        raise RefusedError(f"it has {len(name)} characters, Airflow keeps {_LONGEST_ASSET}")
    if name in _RESERVED_ASSETS or name.startswith("airflow://"):
        raise RefusedError("Airflow keeps this name for itself")
    return name


def _some(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.value("assets") == ():
        yield "assets", "is empty: name an asset, or take schedule away to start the pipeline by hand"


_EXPECTED = f"five cron fields such as '0 6 * * *', or one of {', '.join(PRESETS)}, or {{assets: [name or URI]}}"

SCHEDULE = Either(
    _EXPECTED,
    scalar=text(_EXPECTED).then(cron),
    block=Record(
        AssetSchedule,
        fields=(
            Field(
                "assets",
                "assets",
                ListOf(
                    text("the name or URI of an asset of Airflow, such as s3://events/clicks").then(_asset),
                    "a list of names or URIs of assets of Airflow",
                    identity=str,
                ),
                required=True,
            ),
        ),
        rules=(_some,),
    ),
)
