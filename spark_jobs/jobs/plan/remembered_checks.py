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

import spark_jobs
from spark_jobs.pipeline import code
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake

_FILE = "checked.json"
_MOST = 100


def key_of(pipeline: Pipeline, schemas: Mapping[str, str]) -> str:
    """Return what identifies a check: 64 hex digits. `schemas` are the columns of each source as JSON, by its name."""
    without_place = replace(pipeline, path=None, places={})
    parts = (spark_jobs.__version__, code.is_allowed(os.environ), repr(without_place), sorted(schemas.items()))
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def is_remembered(lake: Lake, key: str) -> bool:
    """Return whether a check has passed before."""
    return key in _keys(lake)


def remember(lake: Lake, key: str) -> None:
    """Remember that a check has passed. A file that cannot be written is no failure."""
    keys = _keys(lake)
    if key not in keys:
        with suppress(LakeError):
            lake.objects.write(_FILE, json.dumps([*keys, key][-_MOST:]).encode())


def _keys(lake: Lake) -> list[str]:
    try:
        keys = json.loads(lake.objects.read(_FILE) or "[]")
    except (LakeError, ValueError):
        return []
    return keys if isinstance(keys, list) else []
