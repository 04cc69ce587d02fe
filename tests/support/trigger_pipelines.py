"""Settings of triggers over the small history."""

from __future__ import annotations

CONTINUOUS, COUNT = {"windows__trigger": "{continuous: 3 minutes}"}, {"windows__trigger": "{count: 7}"}


DISCARDING = {"windows__accumulation": "discarding"}


SLIDING = {
    "windows__kind": "sliding",
    "windows__size": "25 minutes",
    "windows__slide": "10 minutes",
    "windows__allowed_lateness": "50 minutes",
}


SESSION = {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"}


OPEN = {"replay__end_of_input": "keep_open"}
