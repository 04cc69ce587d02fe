"""A folder of pipeline files: the pipelines of good files by name, and the problem of each broken file.

Law: a broken file does not affect good files, whatever is wrong with it. Of two files for one name of a pipeline, the
first in the order of file names is good, so that the pipeline keeps running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.pipeline.errors import PipelineError
from spark_jobs.pipeline.loading import ENDS_OF_CASES, load
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.printable import printable

_NONE: Mapping[str, str] = {}


@dataclass(frozen=True)
class PipelineFolder:
    """The pipelines of a folder by name, and the problems of its broken files."""

    good: Mapping[str, Pipeline]
    broken: Mapping[Path, str]


def read_folder(folder: Path, reserved: Mapping[str, str] = _NONE) -> PipelineFolder:
    """Read every `*.yaml` and `*.yml` of a folder but cases; a folder that does not exist has none.

    `reserved` are names that no pipeline may have, each with what has it.
    """
    good: dict[str, Pipeline] = {}
    broken: dict[Path, str] = {}
    for path in sorted(folder.glob("*.y*ml")):
        if path.suffix not in (".yaml", ".yml") or path.name.endswith(ENDS_OF_CASES):
            continue
        try:
            pipeline = load(path)
        except PipelineError as problem:
            broken[path] = str(problem)
            continue
        except Exception as error:  # noqa: BLE001  # it must not reach the pipelines of other files
            first_line = str(error).partition("\n")[0]
            problem_of_file = f"{path}: cannot be read: {type(error).__name__}: {first_line}; correct or remove it"
            broken[path] = printable(problem_of_file)
            continue
        if pipeline.name in reserved:
            broken[path] = f"{path}: name: '{pipeline.name}' is {reserved[pipeline.name]}; take another name"
        elif pipeline.name in good:
            first = good[pipeline.name].path
            broken[path] = f"{path}: name: '{pipeline.name}' is the name of {first}; take another name"
        else:
            good[pipeline.name] = pipeline
    return PipelineFolder(good, broken)
