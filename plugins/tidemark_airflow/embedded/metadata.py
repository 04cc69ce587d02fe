"""Bring Airflow's metadata database to the schema of the installed Airflow; `python -m` does it.

An existing database is checked first: that takes a second, the upgrade takes several. The pool that TIDEMARK_POOL names
is made with TIDEMARK_POOL_SLOTS slots unless it exists.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from tidemark_airflow.jobs.pool import POOL, slots


def make_ready() -> None:
    """Make or upgrade the database, if needed, and the pool."""
    from airflow import settings
    from airflow.utils import db

    settings.configure_orm()
    if not is_current():
        db.initdb()
    make_pool(os.environ)


def make_pool(environ: Mapping[str, str]) -> None:
    """Make the pool that bounds how many Spark applications run at once, if one is named and does not exist."""
    from airflow.models.pool import Pool

    name = environ.get(POOL)
    if name and Pool.get_pool(name) is None:
        description = "As many Spark applications run at once."
        Pool.create_or_update_pool(name, slots=slots(environ), description=description, include_deferred=False)


def is_current() -> bool:
    """True if the database has the schema that this Airflow needs."""
    from airflow import settings
    from airflow.utils import db
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    heads = set(ScriptDirectory.from_config(db._get_alembic_config()).get_heads())
    with settings.get_engine().connect() as connection:
        return set(MigrationContext.configure(connection).get_current_heads()) == heads


if __name__ == "__main__":
    make_ready()
