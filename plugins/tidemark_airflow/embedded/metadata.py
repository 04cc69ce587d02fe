"""Airflow's metadata database is brought to the schema of the Airflow that is installed; `python -m` does it.

A database that is there already is looked at first: that takes a second, bringing it up to date takes several. The pool
that TIDEMARK_POOL names is made where it is not there, with TIDEMARK_POOL_SLOTS slots; one that is there is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

POOL, SLOTS = "TIDEMARK_POOL", "TIDEMARK_POOL_SLOTS"
#: An application of Spark takes two cores where it is not told otherwise.
_FEWEST = 2


def make_ready() -> None:
    """Make the database, or upgrade it, if it is not as it must be, and the pool."""
    from airflow import settings
    from airflow.utils import db

    settings.configure_orm()
    if not is_current():
        db.initdb()
    make_pool(os.environ)


def make_pool(environ: Mapping[str, str]) -> None:
    """Make the pool that bounds how many applications of Spark run at once, if one is named and it is not there."""
    from airflow.models.pool import Pool

    name = environ.get(POOL)
    if name and Pool.get_pool(name) is None:
        told = "As many applications of Spark run at once."
        Pool.create_or_update_pool(name, slots=slots(environ), description=told, include_deferred=False)


def slots(environ: Mapping[str, str]) -> int:
    """How many slots a new pool has: as TIDEMARK_POOL_SLOTS says, else half the cores of this machine."""
    return int(environ.get(SLOTS) or max(_FEWEST, (os.cpu_count() or 1) // 2))


def is_current() -> bool:
    """Whether the database has the schema that this Airflow needs."""
    from airflow import settings
    from airflow.utils import db
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    wanted = set(ScriptDirectory.from_config(db._get_alembic_config()).get_heads())
    with settings.get_engine().connect() as connection:
        return set(MigrationContext.configure(connection).get_current_heads()) == wanted


if __name__ == "__main__":
    make_ready()
