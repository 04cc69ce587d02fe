"""A new project: the files in the folder `project` beside this module, copied into a folder of the user.

A name that begins with `dot_` begins with a dot in the new project. `{version}` in `requirements.txt` is the version
of Tidemark.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import spark_jobs
from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError

#: The pipeline file of the example, below the project.
EXAMPLE = "pipelines/clicks.yaml"

_DOT = "dot_"
_SHOWN = 3


def write(folder: Path) -> list[str]:
    """Write a project into a new or empty folder; returns the paths of its files below the folder.

    Raises InputError for a folder that is not empty or cannot be written.
    """
    _refuse_full(folder)
    texts = dict(_texts(files("spark_jobs.cli") / "project"))
    try:
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(
            f"cannot write the project to {folder}: {problem.strerror or problem}", code=ErrorCode.PROJECT_NOT_WRITTEN
        ) from problem
    return list(texts)


def _refuse_full(folder: Path) -> None:
    if folder.is_dir():
        names = sorted(path.name for path in folder.iterdir())
        if names:
            more = ", ..." if len(names) > _SHOWN else ""
            contents = ", ".join(names[:_SHOWN]) + more
            raise InputError(
                f"{folder} is not empty, it contains {contents}; name a new or an empty folder",
                code=ErrorCode.PROJECT_NOT_WRITTEN,
            )
    elif folder.exists():
        raise InputError(f"{folder} is a file; name a new or an empty folder", code=ErrorCode.PROJECT_NOT_WRITTEN)


def _texts(template: Traversable, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file, sorted by name."""
    for entry in sorted(template.iterdir(), key=lambda entry: entry.name):
        path = f"{above}{_name(entry.name)}"
        if entry.is_file():
            text = entry.read_text(encoding="utf-8")
            yield path, text.replace("{version}", spark_jobs.__version__) if path == "requirements.txt" else text
        elif entry.name != "__pycache__":
            yield from _texts(entry, f"{path}/")


def _name(name: str) -> str:
    return f".{name.removeprefix(_DOT)}" if name.startswith(_DOT) else name
