"""Days on which clocks change, and the zones whose clocks change then."""

from __future__ import annotations

from datetime import UTC, datetime

HOUR, DAY = 3_600_000, 86_400_000
# Changes at midnight, at one minute after midnight, half an hour before it, by half an hour, and by a whole day.
ZONES = (
    "Europe/Berlin",
    "America/Havana",
    "America/Sao_Paulo",
    "America/Goose_Bay",
    "America/Toronto",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kolkata",
)
ODD_DAYS = ("2011-12-30", "1919-03-30", "2010-11-07", "2024-03-31", "2024-10-27", "2018-11-04", "2019-02-16")


def ms(text: str) -> int:
    """Return the milliseconds of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)
