"""Checks that passed, remembered in the lake: the same pipeline over the same columns needs no second check.

A check needs Spark, which alone analyses SQL. Law: a check is remembered iff it passed for the same pipeline and the
same columns of its sources. It is also bound to the release and to the permission of code. Any other change forgets it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import spark_jobs
from spark_jobs.pipeline import code
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables.lake import Lake
from spark_jobs.whole_files import write_whole

_FILE = "checked.json"
_MOST = 100


def key_of(pipeline: Pipeline, schemas: Mapping[str, str]) -> str:
    """Return what identifies a check: 64 hex digits. `schemas` are the columns of each source as JSON, by its name."""
    without_place = replace(pipeline, path=None, places={})
    parts = (spark_jobs.__version__, code.is_allowed(os.environ), repr(without_place), sorted(schemas.items()))
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def is_remembered(lake: Lake, key: str) -> bool:
    """Return whether a check has passed before; false for a lake that is not a local folder."""
    return key in _keys(lake)


def remember(lake: Lake, key: str) -> None:
    """Remember that a check has passed, if the lake is a local folder. A file that cannot be written is no failure."""
    folder, keys = lake.folder, _keys(lake)
    if folder is None or key in keys:
        return
    with suppress(OSError):
        write_whole(json.dumps([*keys, key][-_MOST:]), folder / _FILE)


def _keys(lake: Lake) -> list[str]:
    folder = lake.folder
    if folder is None:
        return []
    try:
        keys = json.loads(Path(folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return keys if isinstance(keys, list) else []
