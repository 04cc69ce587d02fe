"""The pool of Airflow that bounds how many Spark applications run at once."""

from __future__ import annotations

import os
from collections.abc import Mapping

#: The variables that name the pool, and its slots where it is made.
POOL, SLOTS = "TIDEMARK_POOL", "TIDEMARK_POOL_SLOTS"
_DEFAULT_POOL = "default_pool"
#: A Spark application takes two cores by default.
_FEWEST = 2


def pool() -> str:
    """Return the pool of tasks that start Spark: the one that `TIDEMARK_POOL` names, else Airflow's default."""
    return os.environ.get(POOL) or _DEFAULT_POOL


def slots(environ: Mapping[str, str]) -> int:
    """Return the slots of a new pool: `TIDEMARK_POOL_SLOTS`, else half the cores of this machine."""
    return int(environ.get(SLOTS) or max(_FEWEST, (os.cpu_count() or 1) // 2))
