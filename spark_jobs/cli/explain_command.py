"""The command explain: the cause and the cure of an error by its code."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_jobs import error_codes
from spark_jobs.cli import printing
from spark_jobs.cli.command import Answer, AsJson, answering
from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError


def explain(
    code: Annotated[str, typer.Argument(help="The code of an error, such as TM205.", metavar="CODE")],
    as_json: AsJson = False,
) -> None:
    """Print the cause and the cure of an error by its code."""
    with answering(as_json) as answer:
        error_code = error_codes.find(code)
        if error_code is None:
            raise InputError(_unknown(code), code=ErrorCode.OPTION_WRONG)
        answer(Answer(_content(error_code), lambda: _show(error_code)))


def _unknown(code: str) -> str:
    near = error_codes.nearest(code)
    first, *_, last = ErrorCode
    hint = f"did you mean {' or '.join(near)}?" if near else f"codes are from {first} to {last}"
    return f"CODE: found '{code}', expected the code of an error; {hint}"


def _content(code: ErrorCode) -> dict[str, str | int]:
    return {
        "code": code,
        "title": code.summary,
        "cause": code.cause,
        "cure": code.cure,
        "exit_code": code.exit_code,
    }


def _show(code: ErrorCode) -> None:
    printing.print_line(f"{code}: {code.summary}")
    printing.print_line(f"cause: {code.cause}")
    printing.print_line(f"cure: {code.cure}")
    printing.print_line(f"exit code: {code.exit_code}")
