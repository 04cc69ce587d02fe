"""The extent of a planned run: rows, files and bytes of the sources that it reads, and the range of their windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Extent:
    """Rows, files and bytes of the sources that a run reads, and the first and last window of the rows.

    Every file with a needed row is counted. A join by interval or as of has no windows.
    """

    source_rows: int
    source_files: int
    source_bytes: int
    first_window: datetime | None
    last_window: datetime | None
