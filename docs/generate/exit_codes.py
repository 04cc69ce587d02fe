"""Exit codes: which error ends `tidemark` and `step.py` with which code, read from their handlers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from spark_jobs.job_protocol import ExitCode

_ROOT = Path(__file__).resolve().parents[2]
CODES: Mapping[int, str] = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed",
    ExitCode.WRONG_INPUT: "wrong input",
    ExitCode.BLOCKED: "blocked by quality",
}
COMMAND, STEP = _ROOT / "spark_jobs/cli/command.py", _ROOT / "spark_jobs/jobs/step.py"


@cache
def code_of(program: Path = COMMAND) -> Mapping[str, int]:
    """Return the exit code by the name of each error that the program's handlers name."""
    codes: dict[str, int] = {}
    for node in ast.walk(ast.parse(program.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ExceptHandler) and (code := _code(node)) is not None:
            codes |= dict.fromkeys(_names(node), code)
    return codes


def _names(handler: ast.ExceptHandler) -> list[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [kind.id for kind in kinds if isinstance(kind, ast.Name)]


def _code(handler: ast.ExceptHandler) -> int | None:
    """Return the first `ExitCode.NAME` in the body of a handler."""
    for node in ast.walk(handler):
        match node:
            case ast.Attribute(value=ast.Name("ExitCode"), attr=name):
                return ExitCode[name].value
    return None
