"""`${VAR}` in a text value is the environment's VAR; `${VAR:-text}` is `text` where VAR is unset or empty.

An unset variable without a default is refused, never empty text. `$${` is a literal `${`. One variable has a
default: TIDEMARK_LAKE, the folder of all tables, is the `lake` of the project.

A value may be a secret. Reports, logs and errors show `${VAR}` in its place: `hide_values` replaces each value that
this process has read, in a text of any origin. TIDEMARK_LAKE is no secret, nor is a value of fewer than six characters.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.errors import RefusedError

LAKE = "TIDEMARK_LAKE"
_NAME, _MARK = "lake", "tidemark.toml"

SHORTEST_SECRET = 6

#: The references by the values that this process has read for them.
_references: dict[str, str] = {}

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<body>[^{}]*)\}|\$\{")
_BODY = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.DOTALL)


def lake_folder(environ: Mapping[str, str] | None = None, start: Path | None = None) -> str:
    """Return the lake: TIDEMARK_LAKE; where it is unset or empty, the folder `lake` of the project.

    That is `lake` in the working directory if it exists. Otherwise it is in the nearest folder, from `start` upwards,
    with a `lake` or the file `tidemark.toml`. Without one it is in the working directory. `start` is the folder of
    the pipeline file, by default the working directory.
    """
    variables = os.environ if environ is None else environ
    return variables.get(LAKE) or str(_project(Path.cwd() if start is None else start) / _NAME)


def _project(start: Path) -> Path:
    here, start = Path.cwd(), start.resolve()
    if (here / _NAME).is_dir():
        return here
    marked = (folder for folder in (start, *start.parents) if (folder / _NAME).is_dir() or (folder / _MARK).is_file())
    return next(marked, here)


def substitute(text: str, environ: Mapping[str, str]) -> str:
    """Replace every reference. Raises RefusedError for a variable that is not set and a malformed reference."""
    return _REFERENCE.sub(lambda match: _value(match, environ), text)


def hide_values(text: str) -> str:
    """Return a text for people: with `${VAR}` in place of each value of a variable that was read for a pipeline."""
    for value in sorted(_references, key=len, reverse=True):
        text = text.replace(value, _references[value])
    return text


def _secret(name: str, value: str) -> str:
    if name != LAKE and len(value) >= SHORTEST_SECRET:
        # Settings and answers may stand in JSON, which escapes some characters.
        in_json = (json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
        _references.update(dict.fromkeys((value, *in_json), f"${{{name}}}"))
    return value


def _value(match: re.Match[str], environ: Mapping[str, str]) -> str:
    if match[0] == "$${":
        return "${"
    body = _BODY.fullmatch(match["body"] or "")
    if body is None:
        raise RefusedError(
            f"'{match[0]}' is no variable; write ${{NAME}} or ${{NAME:-default}}, or $${{ for text",
            code=ErrorCode.VARIABLE_UNSET,
        )
    name, default = body["name"], body["default"]
    if default is not None:
        present = environ.get(name)
        return _secret(name, present) if present else default.removeprefix(":-")
    if name == LAKE:
        return lake_folder(environ)
    if name not in environ:
        raise RefusedError(
            f"the environment variable {name} is not set; set it, or write ${{{name}:-default}}",
            code=ErrorCode.VARIABLE_UNSET,
        )
    return _secret(name, environ[name])
