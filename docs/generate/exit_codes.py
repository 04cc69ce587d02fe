"""Exit codes: which error ends `tidemark` and `step.py` with which code, read from their handlers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
CODES: Mapping[int, str] = {0: "done", 1: "failed", 2: "wrong input", 3: "blocked by quality"}
COMMAND, STEP = _ROOT / "spark_jobs/cli/app.py", _ROOT / "spark_jobs/jobs/step.py"


@cache
def code_of(program: Path = COMMAND) -> Mapping[str, int]:
    """Return the exit code by the name of each error that the program's handlers name."""
    tree = ast.parse(program.read_text(encoding="utf-8"))
    constants = dict(_constants(tree))
    codes: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and (code := _code(node, constants)) is not None:
            codes |= dict.fromkeys(_names(node), code)
    return codes


def _constants(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names of numbers: `DONE, FAILED = 0, 1`."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Tuple(names)], value=ast.Tuple(values)):
                for name, value in zip(names, values, strict=True):
                    if isinstance(name, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, int):
                        yield name.id, value.value


def _names(handler: ast.ExceptHandler) -> list[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [kind.id for kind in kinds if isinstance(kind, ast.Name)]


def _code(handler: ast.ExceptHandler, constants: Mapping[str, int]) -> int | None:
    """Return the code of a handler: of `_refuse(..., code, ...)`, or of `return CODE`."""
    for node in ast.walk(handler):
        match node:
            case ast.Call(func=ast.Name("_refuse"), args=[_, ast.Constant(int(code)), *_]):
                return code
            case ast.Return(value=ast.Name(name) | ast.Tuple([ast.Name(name), *_])) if name in constants:
                return constants[name]
    return None
