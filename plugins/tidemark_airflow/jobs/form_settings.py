"""The settings that a form may replace: times, emission and mode, which reach no other data and run no code.

The author of a pipeline file is trusted to run code, and a user who fills a form is not. So a form replaces no table,
column, SQL, class or check. An administrator allows further settings by TIDEMARK_FORM_SETTINGS.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

FURTHER = "TIDEMARK_FORM_SETTINGS"

#: A key stands for all keys below it.
ALLOWED = (
    "replay.end_of_input",
    "replay.mode",
    "replay.rows_per_round",
    "source.future_guard",
    "watermark.alignment",
    "watermark.emit",
    "watermark.idle_timeout",
    "watermark.lag",
    "watermark.out_of_orderness",
    "watermark.placement",
    "windows.accumulation",
    "windows.allowed_lateness",
    "windows.gap",
    "windows.late_data",
    "windows.late_panes",
    "windows.offset",
    "windows.size",
    "windows.slide",
    "windows.trigger",
)


def refused_settings(overrides: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield a problem for each setting that a form may not replace, and for each value that names a variable."""
    allowed = (*ALLOWED, *_keys(environ.get(FURTHER) or ""))
    for key, value in overrides.items():
        if not _is_allowed(key, allowed):
            yield (
                f"settings: a form may not replace {key}. Change it in the pipeline file, or let an administrator "
                f"of Airflow add it to {FURTHER}"
            )
        elif "${" in value:
            yield f"settings: {key}: found '{value}'. A form reads no environment variables: write the value"


def _keys(text: str) -> Iterable[str]:
    return (key.strip() for key in text.split(",") if key.strip())


def _is_allowed(key: str, allowed: Iterable[str]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in allowed)
