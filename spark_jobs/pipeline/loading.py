"""Loading turns a pipeline file, its text or a mapping with the same keys into a `Pipeline`, or reports all problems.

The order is: read, replace variables, put the overrides in, check every key, check keys against each other. Nothing is
looked up outside the file but environment variables: whether the source exists is for a later check.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from spark_jobs.pipeline.contract import PIPELINE, homes
from spark_jobs.pipeline.document import Block, Node
from spark_jobs.pipeline.environment import substitute
from spark_jobs.pipeline.errors import PipelineError, Place, Problem
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.overrides import override
from spark_jobs.pipeline.reader import Reader
from spark_jobs.pipeline.review import Review


def load(
    path: str | os.PathLike[str],
    *,
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Pipeline:
    """Load a pipeline file.

    `overrides`: dotted key -> YAML text, `{"windows.size": "2 hours"}`; `null` takes a key away. `environ`: the
    variables for `${VAR}`, by default those of the process. Raises PipelineError with every problem.
    """
    origin = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise PipelineError([Problem(Place(origin), "", f"cannot be read: {error.strerror or error}")]) from error
    except UnicodeDecodeError as error:
        raise PipelineError([Problem(Place(origin), "", f"is not UTF-8 text: byte {error.start} is wrong")]) from error
    return replace(parse(text, origin=origin, overrides=overrides, environ=environ), path=origin)


def parse(
    text: str,
    *,
    origin: str = "<text>",
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Pipeline:
    """Make a pipeline from the text of a pipeline file; `origin` names it in errors. Otherwise like `load`."""
    reader = _reader(origin, environ)
    return _pipeline(reader.from_yaml(text), reader, overrides)


def from_mapping(
    mapping: Mapping[str, object],
    *,
    origin: str = "<mapping>",
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Pipeline:
    """Make a pipeline from a mapping with the keys of the file; text in it is text, never `true`. Like `parse`."""
    reader = _reader(origin, environ)
    return _pipeline(reader.from_python(mapping), reader, overrides)


def _reader(origin: str, environ: Mapping[str, str] | None) -> Reader:
    return Reader(Place(origin), partial(substitute, environ=os.environ if environ is None else environ), [])


def _pipeline(root: Node, reader: Reader, overrides: Mapping[str, object] | None) -> Pipeline:
    if overrides and isinstance(root, Block):
        root = override(root, overrides, reader.substitute, reader.problems)
    allowed: dict[str, tuple[str, ...]] = {}
    for name, key in homes():
        allowed[name] = (*allowed.get(name, ()), key)
    review = Review(allowed, reader.problems, places={"": root.place})
    pipeline: Pipeline = PIPELINE.read(root, "", review)
    if reader.problems:
        raise PipelineError(reader.problems)
    return pipeline
