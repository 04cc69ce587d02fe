"""Loading turns a pipeline file, its text or a mapping with the same keys into a `Pipeline`, or reports all problems.

The order is: read, replace variables, put the overrides in, check every key, check keys against each other. Nothing is
looked up outside the file but environment variables: whether the source exists is for a later check.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.code import refused_code
from spark_jobs.pipeline.contract import PIPELINE, homes
from spark_jobs.pipeline.document import Block, Node
from spark_jobs.pipeline.environment import hide_values, substitute
from spark_jobs.pipeline.errors import PipelineError, Place, Problem, Problems, RefusedError, TooManyProblemsError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.overrides import override
from spark_jobs.pipeline.reader import Reader
from spark_jobs.pipeline.review import Review

#: The end of the name of a file of cases, which lies beside a pipeline file and is none.
CASES = ".test.yaml"
#: Both ends of such a name.
ENDS_OF_CASES = (CASES, ".test.yml")
#: The longest file that is read: its keys and values are written by people.
LARGEST_BYTES = 128 * 1024


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
        text = _text(Path(path))
    except RefusedError as reason:
        raise PipelineError([Problem(Place(origin), "", str(reason), ErrorCode.FILE_UNREADABLE)]) from reason
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
    return _pipeline(lambda: reader.from_yaml(text), reader, overrides, environ)


def from_mapping(
    mapping: Mapping[str, object],
    *,
    origin: str = "<mapping>",
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Pipeline:
    """Make a pipeline from a mapping with the keys of the file; text in it is text, never `true`. Like `parse`."""
    reader = _reader(origin, environ)
    return _pipeline(lambda: reader.from_python(mapping), reader, overrides, environ)


def _text(path: Path) -> str:
    """Return the text of a file. Raises RefusedError for a file that cannot be read, or whose reading would not end."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            kind = "a folder" if stat.S_ISDIR(state.st_mode) else "a pipe or device"
            raise RefusedError(f"found {kind}, expected a file of YAML")
        if state.st_size > LARGEST_BYTES:
            raise RefusedError(f"found {state.st_size:,} bytes, at most {LARGEST_BYTES:,} are read; shorten the file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RefusedError(f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RefusedError(f"is not UTF-8 text: byte {error.start} is wrong") from error
    except ValueError as error:
        raise RefusedError(f"cannot be read: {error}") from error


def _reader(origin: str, environ: Mapping[str, str] | None) -> Reader:
    return Reader(Place(origin), partial(substitute, environ=os.environ if environ is None else environ), Problems())


def _pipeline(
    read: Callable[[], Node],
    reader: Reader,
    overrides: Mapping[str, object] | None,
    environ: Mapping[str, str] | None,
) -> Pipeline:
    """Return the pipeline of the document that `read` makes. Raises PipelineError."""
    try:
        pipeline = _checked(read(), reader, overrides, os.environ if environ is None else environ)
    except TooManyProblemsError as stop:
        raise _refused(reader.problems) from stop
    if reader.problems:
        raise _refused(reader.problems)
    return pipeline


def _refused(problems: Problems) -> PipelineError:
    return PipelineError(replace(problem, message=hide_values(problem.message)) for problem in problems.collected)


def _checked(
    root: Node, reader: Reader, overrides: Mapping[str, object] | None, environ: Mapping[str, str]
) -> Pipeline:
    """Check the document; the pipeline is UNREADABLE after a problem."""
    if overrides and isinstance(root, Block):
        root = override(root, overrides, reader.substitute, reader.problems)
    allowed: dict[str, tuple[str, ...]] = {}
    for name, key in homes():
        allowed[name] = (*allowed.get(name, ()), key)
    review = Review(allowed, reader.problems, places={"": root.place})
    pipeline: Pipeline = PIPELINE.read(root, "", review)
    for problem in refused_code(review, environ):
        reader.problems.add(problem)
    return pipeline if reader.problems else replace(pipeline, places={k: str(p) for k, p in review.places.items() if k})
