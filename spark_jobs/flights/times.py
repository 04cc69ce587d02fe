"""Times of a flight: its departure, and the moment at which its row became known. Instants are in UTC.

The data set gives a date, clock times (18:55 is 1855) and delays in minutes. Clocks are local: those of a departure
show New York's time, those of an arrival the destination's. A date belongs to the scheduled departure alone. So

    scheduled_at = the date and sched_dep_time on New York's clock
    departed_at  = scheduled_at + dep_delay
    due_at       = the first instant after scheduled_at at which the destination's clock shows sched_arr_time
    landed_at    = due_at + arr_delay                                                    a flight that arrived
                 = the first instant after departed_at at which the destination's clock shows arr_time
                                                                                         arrived after a diversion
                 = departed_at + (due_at - scheduled_at)                                 never arrived: missed by then
                 = scheduled_at                                                          cancelled: known by then

`landed_at` is never null; `departed_at` is null for exactly the cancelled flights (no dep_time).

- Delays are added to instants, not to clocks, so a change of the clocks does not change the duration of a flight.
- "The first instant after" is right for flights shorter than a day, as all flights of the data set are.
- A clock time that a change of the clocks skips is read as the end of the gap. A clock time that occurs twice is read
  as the first of the two. The data set contains no such clock time.

Four destinations are missing from the data set's table of airports; their zones are `MISSING_ZONES`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from spark_jobs.error_codes import ErrorCode

NEW_YORK = "America/New_York"
MISSING_ZONES = {
    "BQN": "America/Puerto_Rico",
    "PSE": "America/Puerto_Rico",
    "SJU": "America/Puerto_Rico",
    "STT": "America/St_Thomas",
}


class UnknownZoneError(LookupError):
    """A destination without a known time zone."""

    code = ErrorCode.ZONE_UNKNOWN


def with_times(flights: pd.DataFrame, zones: Mapping[str, str]) -> pd.DataFrame:
    """Add `scheduled_at`, `departed_at` and `landed_at`, as defined in the module's docstring, to rows of the data set.

    `zones`: airport code -> time zone. Raises UnknownZoneError for a destination that is neither in `zones` nor in
    `MISSING_ZONES`.
    """
    zone = _zones_of(flights["dest"], {**MISSING_ZONES, **zones})
    dates = pd.to_datetime(flights[["year", "month", "day"]])
    scheduled_at = _instants(dates + _since_midnight(flights["sched_dep_time"]), NEW_YORK)
    departed_at = scheduled_at + _minutes(flights["dep_delay"])
    due_at = _next_showing(flights["sched_arr_time"], scheduled_at, zone)
    landed_at = due_at + _minutes(flights["arr_delay"])
    diverted = landed_at.isna() & flights["arr_time"].notna()
    landed_at = landed_at.fillna(_next_showing(flights["arr_time"][diverted], departed_at[diverted], zone[diverted]))
    landed_at = landed_at.fillna(departed_at + (due_at - scheduled_at))
    landed_at = landed_at.fillna(scheduled_at)
    return flights.assign(scheduled_at=scheduled_at, departed_at=departed_at, landed_at=landed_at)


def _zones_of(destinations: pd.Series[str], zones: Mapping[str, str]) -> pd.Series[str]:
    unknown = sorted(set(destinations) - set(zones))
    if unknown:
        raise UnknownZoneError(
            f"time zone of {', '.join(unknown)}: not in the table of airports. Add it to MISSING_ZONES in {__name__}"
        )
    return destinations.map(zones)


def _next_showing(
    clock: pd.Series[float], after: pd.Series[pd.Timestamp], zone: pd.Series[str]
) -> pd.Series[pd.Timestamp]:
    """Return the first instant after `after` at which the clock of `zone` shows `clock`."""
    instants = pd.Series(pd.NaT, index=after.index, dtype=after.dtype)
    for name, rows in after.groupby(zone):
        local = rows.dt.tz_convert(name).dt.tz_localize(None)
        same_day = local.dt.normalize() + _since_midnight(clock.loc[rows.index])
        next_day = same_day + pd.Timedelta(days=1)
        instants[rows.index] = _instants(same_day.where(same_day > local, next_day), str(name))
    return instants


def _instants(local: pd.Series[pd.Timestamp], zone: str) -> pd.Series[pd.Timestamp]:
    """Return the UTC instants at which the clock of `zone` shows `local`."""
    # Of two instants the first is the one in daylight saving time, which ends by setting clocks back.
    in_summer = np.ones(len(local), dtype=bool)
    return local.dt.tz_localize(zone, ambiguous=in_summer, nonexistent="shift_forward").dt.tz_convert("UTC")


def _since_midnight(clock: pd.Series[float]) -> pd.Series[pd.Timedelta]:
    """Return the time since midnight: 1855 is 18 hours and 55 minutes, 2400 the whole day."""
    return _minutes(clock // 100 * 60 + clock % 100)


def _minutes(count: pd.Series[float]) -> pd.Series[pd.Timedelta]:
    # Not `to_timedelta`, which converts NaN to an integer, and warns if that overflows.
    return count * pd.Timedelta(minutes=1)
