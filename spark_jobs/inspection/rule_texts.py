"""The rules behind verdicts in one sentence each, for readers without the page of semantics.

`last` is the last millisecond of a window, and `cleanup = last + allowed lateness`.
"""

from __future__ import annotations

from collections.abc import Mapping

#: The sentence of a rule by its number, as on the page of semantics.
RULE_TEXTS: Mapping[int, str] = {
    51: "A window is closed for a row if the watermark before the row is at cleanup or past it.",
    53: "A row that no window takes is reported as too late if its event time and the allowed lateness are not ahead "
    "of the watermark. Another such row lies between two windows and is not reported.",
    54: "Lateness belongs to the window: a row behind the watermark is on time while its window is open.",
    64: "A row is late if the watermark is at the window's last millisecond or past it, and not yet at cleanup. Such a "
    "row fires a late pane.",
    70: "With a trigger by count, a window fires when so many rows have come since it last fired. The watermark does "
    "not fire it, and a late row counts like any other.",
    90: "Two rows join if their keys are equal and their times lie within the interval.",
    91: "A row of a join by interval is too late if its event time is less than the watermark.",
    93: "A row whose time is the watermark may miss a partner that has just been dropped.",
}
