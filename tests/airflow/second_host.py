"""A second host of an Airflow: a scheduler with its workers, its DAG files and its logs, but no API server.

Both hosts have the database, the keys and the address of the API server together, and no folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.airflow.clone import Clone
from tests.airflow.whole import Whole
from tidemark_airflow.embedded import processes


@contextmanager
def second_host(first: Whole, root: Path, **more: str) -> Iterator[Whole]:
    """Start the scheduler of a second host in the folder `root`, with `more` variables; none of it is left after it."""
    clone, first_home = Clone.make(root), first.installation.home
    for file in (first.installation.root / "dags/pipelines").iterdir():
        shutil.copy(file, clone.root / "dags/pipelines")
    installation = replace(clone.installation(), port=first.installation.port, database=first.installation.database)
    installation.home.mkdir(parents=True)
    for key in first_home.glob("*.key"):
        shutil.copy(key, installation.home)
    second = Whole(installation, first.more)
    try:
        second.command("installation.make()")
        second.start("scheduler", **more)
        yield second
    finally:
        left = processes.end(installation.home)
    assert not left
