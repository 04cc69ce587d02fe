"""The run that a page is about, the pipeline of its file, and answers within a time.

Law: a request is answered within `WITHIN_S`, even if a remote lake is slow. At most `AT_ONCE` requests read at once. A
request that finds `AT_MOST` others is refused at once, so that the threads of the server stay free.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from pathlib import Path
from threading import BoundedSemaphore
from typing import TypeVar

from airflow.sdk import conf

from spark_jobs.inspection.publication import NoPublicationError, Publication
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables import run_history
from spark_jobs.tables.lake import Lake
from tidemark_airflow.jobs.pipeline_files import read_folder

#: The seconds within which a request is answered, the requests that read at once, and those that read or wait.
WITHIN_S, AT_ONCE, AT_MOST = 25.0, 4, 12
# The steps of the ledger among which the run published last is sought: about a hundred runs.
_STEPS = 500

_places = BoundedSemaphore(AT_MOST)
_T = TypeVar("_T")
_State = tuple[tuple[str, int, int], ...]


class TookTooLongError(Exception):
    """A request that was not answered in time."""


def publication(pipeline: str, run_id: str = "") -> Publication:
    """Return what a run has published, by default the run published last.

    Raises NoPublicationError without such a run, and LakeError.
    """
    lake = Lake.of(pipeline)
    if run_id:
        run = run_history.find(lake, run_id)
        if run is None:
            raise NoPublicationError(f"the ledger of {pipeline} has no run {run_id}")
    else:
        run = next((each for each in run_history.newest(lake, _STEPS).runs if each.versions), None)
        if run is None:
            raise NoPublicationError(f"{pipeline} has published nothing yet. Replay the pipeline first")
    if not run.versions:
        raise NoPublicationError(f"run {run.run_id} is {run.state}, and has published nothing. Read its report")
    return Publication(lake, run)


def pipeline_file(name: str) -> Pipeline | None:
    """Return the pipeline of this name in Airflow's folder of DAGs; None without a good file."""
    folder = Path(conf.get("core", "dags_folder", fallback="") or "") / "pipelines"
    try:
        state = tuple(sorted((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in folder.iterdir()))
    except OSError:
        return None
    return _read(folder, state).get(name)


def within(read: Callable[[], _T]) -> _T:
    """Return what `read` returns, which runs in another thread. Raises TookTooLongError, and the errors of `read`."""
    if not _places.acquire(blocking=False):
        raise TookTooLongError("too many pages are being read at once. Load the page again in some seconds")
    future = _pool().submit(read)
    # A read that is given up holds its place until it ends.
    future.add_done_callback(lambda _: _places.release())
    try:
        return future.result(timeout=WITHIN_S)
    except TimeoutError:
        future.cancel()
        raise TookTooLongError(
            f"the answer took more than {WITHIN_S:.0f} s. Load the page again, or filter by a window"
        ) from None


@lru_cache(maxsize=1)
def _read(folder: Path, _state: _State) -> dict[str, Pipeline]:
    return dict(read_folder(folder).good)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="tidemark-inspection")
