"""The limits of a pipeline's ratios as its file has them now, for the pages beside the ratios of runs.

The files are those of `pipelines` in Airflow's folder of DAGs. A pipeline without a good file there has no limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from airflow.sdk import conf

from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.model import Learned
from tidemark_airflow.jobs.pipeline_files import read_folder
from tidemark_airflow.quality.ratios import Ratios

_State = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Limits:
    """The largest shares, each in [0, 1]; None if there is no limit, or if it is learned from runs."""

    late: float | None = None
    too_late: float | None = None

    def words(self, part: str) -> str:
        """Return the limit of `late` or `too_late` as text; empty without one."""
        limit = getattr(self, part, None)
        return "" if limit is None else f"at most {100 * limit:.4g}%"

    def is_exceeded(self, part: str, ratios: Ratios | None) -> bool:
        """Return whether the ratio is above its limit."""
        limit = getattr(self, part, None)
        return limit is not None and ratios is not None and getattr(ratios, f"{part}_ratio") > limit


NONE = Limits()


def limits() -> dict[str, Limits]:
    """Return the limits of the pipelines with good files, by name; files are read again when one has changed."""
    folder = Path(conf.get("core", "dags_folder", fallback="") or "") / "pipelines"
    try:
        state = tuple(sorted((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in folder.iterdir()))
    except OSError:
        return {}
    return _read(folder, state)


@lru_cache(maxsize=1)
def _read(folder: Path, _state: _State) -> dict[str, Limits]:
    return {name: _of(pipeline) for name, pipeline in read_folder(folder).good.items()}


def _of(pipeline: Pipeline) -> Limits:
    quality = pipeline.quality
    return Limits(_share(quality.max_late_ratio), _share(quality.max_too_late_ratio))


def _share(limit: float | Learned | None) -> float | None:
    return None if isinstance(limit, Learned) else limit
