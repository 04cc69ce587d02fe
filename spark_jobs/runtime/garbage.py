"""Python's garbage in a process that ends after one command: it is collected rarely, and not at the end.

A run imports two thousand modules, whose objects live until the end. To look through them again and again takes half a
second of a run. To collect them when the process ends takes another.
"""

from __future__ import annotations

import atexit
import gc

# New objects between two collections; Python's own limit is 700.
_NEW_OBJECTS = 20_000


def collect_rarely() -> None:
    """Collect garbage rarely in this process, and leave all objects to the system when it ends."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
