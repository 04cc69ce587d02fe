"""An override replaces one value of a pipeline file before it is checked: `windows.size` by the YAML text `2 hours`.

Law: checking a file under overrides is checking the file in which those values stand. `null` takes the key away. An
override reaches into mappings only: what is written as a single word or a list is replaced as a whole. The order of the
overrides does not matter: a mapping's own override comes before those of its keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from spark_jobs.pipeline.document import Block, Broken, Entry, Node, Scalar, describe
from spark_jobs.pipeline.errors import Place, Problem, Problems, RefusedError
from spark_jobs.pipeline.reader import Reader


def override(
    root: Block, overrides: Mapping[str, object], substitute: Callable[[str], str], problems: Problems
) -> Block:
    """Return the document with the overrides in it. A value that is not text is taken as it is, not read as YAML."""
    for key, value in sorted(overrides.items(), key=lambda item: item[0]):
        place = replace(root.place, line=None, column=None, override=key)
        reader = Reader(place, substitute, problems)
        node = reader.from_yaml(value, key) if isinstance(value, str) else reader.from_python(value, key)
        parts = key.split(".")
        try:
            if not all(parts):
                raise RefusedError("no dotted key; write it like windows.size")
            if not isinstance(node, Broken):
                root = _put(root, parts, 0, None if isinstance(node, Scalar) and node.value is None else node, place)
        except RefusedError as refused:
            problems.add(Problem(place, key, str(refused), refused.code))
    return root


def _put(block: Block, parts: list[str], depth: int, node: Node | None, place: Place) -> Block:
    name = parts[depth]
    entries = dict(block.entries)
    if depth < len(parts) - 1:
        inner = entries.get(name, Entry(place, Block({}, place)))
        if not isinstance(inner.node, Block):
            whole = ".".join(parts[: depth + 1])
            raise RefusedError(f"{whole} is {describe(inner.node)}, not a mapping; override {whole} as a whole")
        entries[name] = Entry(inner.place, _put(inner.node, parts, depth + 1, node, place))
    elif node is not None:
        entries[name] = Entry(place, node)
    elif entries.pop(name, None) is None:
        raise RefusedError("there is nothing to take away; the file does not set this key")
    return Block(entries, block.place)
