"""The window that an instant names: the one that starts then, or else the only one that contains it."""

from __future__ import annotations

from spark_jobs.semantics.rows.instants import table_time_us
from spark_jobs.semantics.spec import Windows
from spark_jobs.semantics.windows.window_assigners import assigner

#: The most starts that an error lists.
_MOST_LISTED = 10


class WindowStartError(ValueError):
    """An instant that names no window; the message is the reason, as a clause without a full stop."""


def named_start_ms(windows: Windows, instant_ms: int) -> int:
    """Return the start of the window that an instant names; of sessions, the instant itself.

    Raises WindowStartError for an instant between two windows, and for one inside several windows that starts none.
    """
    if windows.is_session:
        return instant_ms
    starts = sorted(window.start for window in assigner(windows).assign(instant_ms))
    if instant_ms in starts:
        return instant_ms
    if not starts:
        raise WindowStartError(f"{_text(instant_ms)} lies between two windows. Name the start of a window")
    if len(starts) > 1:
        more = f" and {len(starts) - _MOST_LISTED} earlier ones" if len(starts) > _MOST_LISTED else ""
        listed = ", ".join(map(_text, starts[-_MOST_LISTED:]))
        raise WindowStartError(
            f"{_text(instant_ms)} lies in {len(starts)} windows and starts none. Name the start of one window: "
            f"{listed}{more}"
        )
    return starts[0]


def _text(ms: int) -> str:
    return table_time_us(ms * 1000).replace(tzinfo=None).isoformat(timespec="auto" if ms % 1000 else "seconds")
