"""The command explain: why rows of a pipeline counted or not, the life of a window; and an error by its code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs import error_codes
from spark_jobs.cli import printing, recorded_runs
from spark_jobs.cli.command import Answer, AsJson, Override, Request, answering, pipeline_command
from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def explain(
    target: Annotated[
        str, typer.Argument(help="A pipeline file, or the code of an error, such as TM205.", metavar="TARGET")
    ],
    row: Annotated[
        list[str],
        typer.Option("--row", metavar="SQL", help="Explain the rows that this condition holds for; may be repeated."),
    ] = [],  # noqa: B006  typer reads the default
    window: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Explain the window that starts at or contains this time, or the session; ISO 8601."
        ),
    ] = "",
    key: Annotated[
        list[str], typer.Option("--key", metavar="NAME=VALUE", help="A column of the key of the window, and its value.")
    ] = [],  # noqa: B006
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="Explain at most so many rows of each condition.")
    ] = 10,
    run: Annotated[
        str, typer.Option(metavar="RUN", help="The published run that is explained; by default the latest.")
    ] = "",
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Explain why rows counted or not, or what a window went through; or an error by its code."""
    if error_codes.find(target) is None and (row or window or Path(target).suffix in (".yaml", ".yml")):
        _of_pipeline(
            file=target, override=override, as_json=as_json, row=row, window=window, key=key, limit=limit, run=run
        )
        return
    with answering(as_json) as answer:
        error_code = error_codes.find(target)
        if error_code is None:
            raise InputError(_unknown(target), code=ErrorCode.OPTION_WRONG)
        answer(Answer(_content(error_code), lambda: _show(error_code)))


def _explained(request: Request, row: list[str], window: str, key: list[str], limit: int, run: str) -> Answer:
    if not row and not window:
        raise InputError(
            "found neither --row nor --window; give a condition, such as --row 'order_id = 17', or a window's start",
            code=ErrorCode.OPTION_WRONG,
        )
    start_ms, of_key = start_of(window) if window else None, keys(key)
    recorded_runs.require(request.lake, "--run", run)
    request.require_sources()
    spark = request.open_session()
    from spark_jobs.cli import print_explanation
    from spark_jobs.jobs.explain.explain import Request as Explaining
    from spark_jobs.jobs.explain.explain import explain as explain_pipeline

    question = Explaining(row, limit, start_ms, of_key, run)
    explained = explain_pipeline(spark, request.pipeline, request.lake, question, progress=request.progress)
    published = next((run for run in reversed(request.runs()) if run.run_id == explained.run_id), None)
    changed = recorded_runs.settings_changes(published, request.pipeline)
    content = {**explained.as_json(), "changed_settings": changed}
    return Answer(content, lambda: print_explanation.show(request.pipeline, question, explained, changed))


_of_pipeline = pipeline_command(_explained, "explain")


def start_of(window: str) -> int:
    """Return the start of the window of an option, in milliseconds. Raises InputError."""
    from spark_jobs.jobs.options import parse_moment
    from spark_jobs.semantics.rows.instants import floor_to_ms, micros

    return floor_to_ms(micros(parse_moment(window)))


def keys(pairs: Sequence[str]) -> Mapping[str, str]:
    """Return the columns of options `NAME=VALUE`. Raises InputError."""
    columns = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--key: found '{pair}', expected NAME=VALUE", code=ErrorCode.OPTION_WRONG)
        columns[name] = value
    return columns


def _unknown(code: str) -> str:
    near = error_codes.nearest(code)
    first, *_, last = ErrorCode
    hint = f"did you mean {' or '.join(near)}?" if near else f"codes are from {first} to {last}"
    return f"TARGET: found '{code}', expected a pipeline file or the code of an error; {hint}"


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
