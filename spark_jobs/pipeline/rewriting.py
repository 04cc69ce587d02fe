"""Rewriting sets single values in the text of a pipeline file and leaves every other character as it is.

Law: the file's content differs in the new values and in nothing else, which is checked before anything is written. A
file is replaced as a whole or not at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from spark_jobs.pipeline.document import plain_value
from spark_jobs.pipeline.errors import Place, Problems, RefusedError
from spark_jobs.pipeline.reader import Reader


def rewrite(
    path: str | os.PathLike[str], values: Mapping[str, str], is_meant: Callable[[str], bool] = lambda _: True
) -> bool:
    """Set `values` (dotted key of two names -> plain text) in the file; returns whether that changed it.

    Raises RefusedError if it cannot be done without a change of anything else, or the new text is not what `is_meant`.
    """
    target = Path(path).resolve()
    with target.open(encoding="utf-8", newline="") as file:
        before = file.read()
    after = rewritten(before, values)
    if after == before:
        return False
    if not is_meant(after):
        raise _refused(values)
    handle, partial = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(after)
        shutil.copymode(target, partial)
        Path(partial).replace(target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    return True


def rewritten(text: str, values: Mapping[str, str]) -> str:
    """Return the text of a pipeline file with `values` in it. Raises RefusedError as `rewrite`."""
    root = yaml.compose(text, Loader=yaml.BaseLoader)
    if not isinstance(root, yaml.MappingNode):
        raise RefusedError("the file is no mapping")
    blocks: dict[str, dict[str, str]] = {}
    for key, value in values.items():
        block, _, name = key.partition(".")
        blocks.setdefault(block, {})[name] = value
    edits = [edit for block, changed in blocks.items() for edit in _edits(text, root, block, changed)]
    before = _values(text)
    expected = {**before, **{block: {**before.get(block, {}), **changed} for block, changed in blocks.items()}}
    after = text
    for start, end, new in sorted(edits, reverse=True):
        after = after[:start] + new + after[end:]
    try:
        same = _values(after) == expected
    except (RefusedError, yaml.YAMLError):
        same = False
    if not same:
        raise _refused(values)
    return after


def _refused(values: Mapping[str, str]) -> RefusedError:
    return RefusedError(f"{', '.join(values)} cannot be set without a change of something else: edit the file")


Edit = tuple[int, int, str]


def _edits(text: str, root: yaml.MappingNode, block: str, values: Mapping[str, str]) -> list[Edit]:
    parent = _entry(root, block)
    if parent is None:
        return [_new_block(text, root, block, values)]
    if not isinstance(parent, yaml.MappingNode):
        raise RefusedError(f"{block} is no mapping")
    edits, missing = [], {}
    for name, value in values.items():
        node = _entry(parent, name)
        if node is None:
            missing[name] = value
        else:
            edits.append((node.start_mark.index, node.end_mark.index, value))
    if missing:
        edits.append(_new_entries(text, parent, missing))
    return edits


def _new_block(text: str, root: yaml.MappingNode, block: str, values: Mapping[str, str]) -> Edit:
    """A block that the file does not have, before its windows."""
    if root.flow_style or not root.value:
        at = root.start_mark.index + 1
        inner = ", ".join(f"{name}: {value}" for name, value in values.items())
        return at, at, f"{block}: {{{inner}}}, "
    key = next((key for key, _ in root.value if key.value == "windows"), root.value[0][0])
    at, end = key.start_mark.index, _newline(text)
    lines = "".join(f"  {name}: {value}{end}" for name, value in values.items())
    return at, at, f"{block}:{end}{lines}"


def _new_entries(text: str, parent: yaml.MappingNode, values: Mapping[str, str]) -> Edit:
    if parent.flow_style or not parent.value:
        at = parent.start_mark.index + 1
        return at, at, ", ".join(f"{n}: {v}" for n, v in values.items()) + (", " if parent.value else "")
    indent, end = " " * parent.value[0][0].start_mark.column, _newline(text)
    on_one_line = [value for key, value in parent.value if value.end_mark.line == key.start_mark.line]
    if not on_one_line:
        at = parent.value[0][0].start_mark.index
        return at, at, "".join(f"{n}: {v}{end}{indent}" for n, v in values.items())
    # Behind a comment on the same line, and before those of the next key.
    stop = text.find("\n", on_one_line[0].end_mark.index)
    added = "".join(f"{indent}{n}: {v}{end}" for n, v in values.items())
    return (len(text), len(text), end + added) if stop < 0 else (stop + 1, stop + 1, added)


def _entry(mapping: yaml.MappingNode, name: str) -> yaml.Node | None:
    return next((value for key, value in mapping.value if key.value == name), None)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _values(text: str) -> dict[str, Any]:
    """Return the values in the text, without replacing variables."""
    reader = Reader(Place("<text>"), lambda text: text, Problems())
    values = plain_value(reader.from_yaml(text))
    if reader.problems or not isinstance(values, dict):
        raise RefusedError("the file cannot be read as it is written")
    return values
