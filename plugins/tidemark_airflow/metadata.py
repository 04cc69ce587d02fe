"""Airflow's metadata database is brought to the schema of the Airflow that is installed; `python -m` does it.

A database that is there already is looked at first: that takes a second, bringing it up to date takes several.
"""

from __future__ import annotations


def make_ready() -> None:
    """Make the database, or upgrade it, if it is not as it must be."""
    from airflow import settings
    from airflow.utils import db

    settings.configure_orm()
    if not is_current():
        db.initdb()


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
