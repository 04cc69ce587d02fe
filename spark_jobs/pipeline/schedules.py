"""A schedule is when a pipeline runs: five cron fields (minute, hour, day of month, month, day of week), or a preset.

`{cron, start, catchup, slices}` adds where the first interval begins, whether intervals before today have runs too, and
in how many tasks a run is computed. `{assets: [...], slices}` runs whenever Airflow's assets of these names or URIs
have been updated, all of them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from croniter import CroniterError, croniter

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import flag, text, whole_number
from spark_jobs.pipeline.model import EndOfInput, Order, Schedule
from spark_jobs.pipeline.records import Either, Field, ListOf, Record
from spark_jobs.pipeline.review import Contradictions, Facts, hint

#: What Airflow keeps of an asset's name.
_LONGEST_ASSET = 1500
_RESERVED_ASSETS = ("self", "context")

#: Airflow makes no more tasks of one by default than 1024.
MOST_SLICES = 1000

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


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise RefusedError from None


def _slices(count: int) -> int:
    if count > MOST_SLICES:
        raise RefusedError
    return count


def _by_time_or_by_assets(facts: Facts) -> Contradictions:
    if facts.is_written("cron") and facts.is_written("assets"):
        yield "assets", "contradicts cron: a pipeline runs by the time or by assets; keep one of the two"
    elif not facts.is_written("cron") and not facts.is_written("assets"):
        yield "", "names neither cron nor assets: name one, or take schedule away to start the pipeline by hand"
    if facts.value("assets") == ():
        yield "assets", "is empty: name an asset, or take schedule away to start the pipeline by hand"


def _intervals_are_of_cron(facts: Facts) -> Contradictions:
    for name in ("start", "catchup"):
        if facts.is_written(name) and facts.is_written("assets") and not facts.is_written("cron"):
            yield name, "belongs to cron: a run that assets start has no interval; take it away"
    if facts.value("catchup") is True and not facts.is_written("start"):
        yield "start", "missing, expected where the first of the intervals that catchup runs begins"


def catchup_is_of_runs_that_go_on(facts: Facts) -> Contradictions:
    """Catch up intervals only if a run reads the rows of its interval alone."""
    if facts.value("schedule.catchup") is not True:
        return
    by_event_time = facts.value("replay.order") in (Order.EVENT_TIME, Order.OFFSET)
    if by_event_time or facts.value("replay.end_of_input", EndOfInput.CLOSE) is EndOfInput.CLOSE:
        each = "each of these runs would read all that has arrived, and the first is enough"
        goes_on = "replay.end_of_input keep_open and replay.order arrival or commit have one go on from another"
        yield "schedule.catchup", f"{each}; {goes_on}, or take catchup away"


_EXPECTED = f"five cron fields such as '0 6 * * *', or one of {', '.join(PRESETS)}"
_LONG = f"{_EXPECTED}, or {{cron, start, catchup, slices}}, or {{assets: [name or URI]}}"

SCHEDULE = Either(
    _LONG,
    scalar=text(_LONG).then(cron).then(Schedule),
    block=Record(
        Schedule,
        fields=(
            Field(
                "cron",
                "cron",
                text(_EXPECTED).then(cron),
                meaning="Times, in UTC, at which data intervals end and runs start.",
            ),
            Field(
                "assets",
                "assets",
                ListOf(
                    text("the name or URI of an asset of Airflow, such as s3://events/clicks").then(_asset),
                    "a list of names or URIs of assets of Airflow",
                    identity=str,
                ),
                meaning="Names or URIs of Airflow assets: a run starts when all of them have been updated.",
            ),
            Field(
                "start",
                "start",
                text("a time such as 2026-01-01 or 2026-01-01T06:00:00Z").then(_moment),
                meaning="Start of the first data interval, UTC unless it has an offset; without this key, the "
                "next time of `cron`.",
            ),
            Field(
                "catchup",
                "catchup",
                flag("true, for a run of each interval since start, or false"),
                meaning="Whether each data interval since `start` has a run, the oldest first; otherwise only "
                "the newest has a run.",
            ),
            Field(
                "slices",
                "slices",
                whole_number(f"a number of tasks from 1 to {MOST_SLICES}", least=1).then(_slices),
                meaning="Number of Airflow tasks that compute the windows of a run.",
            ),
        ),
        rules=(_by_time_or_by_assets, _intervals_are_of_cron),
    ),
)
