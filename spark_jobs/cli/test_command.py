"""The command test: the cases of a pipeline, replayed without Java, with a diff of what is not as expected."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spark_jobs.cli import live_line, printing
from spark_jobs.cli.command import Answer, AsJson, answering
from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import ExitCode
from spark_jobs.jobs.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.cases.running import CaseOutcome

#: The run published last.
_LATEST = "latest"
_STYLES = {"-": "red", "+": "green"}


def test(
    files: Annotated[
        list[str], typer.Argument(help="Files of cases, drawings, or folders with them.", metavar="FILE...")
    ],
    spark: Annotated[bool, typer.Option("--spark", help="Replay the cases on Spark.")] = False,  # noqa: PT028
    record: Annotated[
        str, typer.Option(metavar="RUN", help="Print a case with a window of this published run, or of the latest.")
    ] = "",  # noqa: PT028
    window: Annotated[str, typer.Option(metavar="TIME", help="With --record: the start of the window; ISO 8601.")] = "",  # noqa: PT028
    key: Annotated[
        list[str],
        typer.Option("--key", metavar="NAME=VALUE", help="With --record: a column of the key, and its value."),
    ] = [],  # noqa: B006, PT028
    as_json: AsJson = False,  # noqa: PT028
) -> None:
    """Replay the cases of pipelines, and show what is not as expected. Needs no Java."""
    with answering(as_json) as answer:
        if record or window or key:
            text = _recorded(files, record, window, key, on_spark=spark)
            answer(Answer({"text": text}, lambda: printing.print_line(text.rstrip("\n"))))
            return
        began = perf_counter()
        ended = _ended(files, on_spark=spark)
        answer(Answer(_content(ended), lambda: _show(ended, perf_counter() - began)))
        if not all(outcome.passed for outcome in ended):
            sys.exit(ExitCode.FAILED)


def _ended(files: Sequence[str], *, on_spark: bool) -> list[CaseOutcome]:
    """Replay all cases. Raises InputError for a file that cannot be read."""
    from spark_jobs.cases.case_file import CaseError, load
    from spark_jobs.cases.engines import OnSpark, Reference
    from spark_jobs.cases.running import outcomes

    paths = [path for file in files for path in _paths(Path(file))]
    try:
        loaded = [load(path) for path in paths]
        with live_line.displayed("test") as progress:
            engine = OnSpark(lambda: _session(progress)) if on_spark else Reference()
            return [outcome for file in loaded for outcome in outcomes(file, engine)]
    except CaseError as problem:
        raise InputError(str(problem), code=problem.code) from problem


def _recorded(files: Sequence[str], run: str, window: str, key: Sequence[str], *, on_spark: bool) -> str:
    """Return the text of a file of cases with a window. Raises InputError."""
    if not run or not window or len(files) != 1:
        raise InputError(
            "--record: expected one pipeline file, --record RUN or --record latest, --window TIME and a --key for each "
            "column of windows.key",
            code=ErrorCode.OPTION_WRONG,
        )
    from spark_jobs.cases.engines import OnSpark, Reference
    from spark_jobs.cli.explain_command import keys, start_of
    from spark_jobs.jobs.explain.explain import Request
    from spark_jobs.jobs.explain.record import record
    from spark_jobs.pipeline import load
    from spark_jobs.tables.lake import Lake

    request = Request(window_start_ms=start_of(window), key=keys(key), run_id="" if run == _LATEST else run)
    lake = Lake.of(load(files[0]).name)
    with live_line.displayed("test") as progress:
        session = _session(progress)
        engine = OnSpark(lambda: session) if on_spark else Reference()
        return record(session, Path(files[0]), lake, request, engine, progress=progress)


def _paths(path: Path) -> list[Path]:
    """Return a file, or the files of cases in a folder."""
    from spark_jobs.pipeline.loading import CASES

    if not path.is_dir():
        return [path]
    paths = sorted(path.rglob(f"*{CASES}"))
    if not paths:
        raise InputError(f"FILE: found no file *{CASES} in {path}", code=ErrorCode.FILE_UNREADABLE)
    return paths


def _session(progress: Any) -> Any:
    from spark_jobs.cli.spark_session import open_session

    return open_session("tidemark test", progress, few_rows=True, beside=lambda: None)


def _content(ended: Sequence[CaseOutcome]) -> dict[str, Any]:
    return {
        "cases": [
            {
                "file": str(outcome.file),
                "name": outcome.name,
                "passed": outcome.passed,
                "seconds": round(outcome.seconds, 4),
                "differences": list(outcome.differences),
            }
            for outcome in ended
        ],
        "passed": sum(outcome.passed for outcome in ended),
        "failed": sum(not outcome.passed for outcome in ended),
    }


def _show(ended: Sequence[CaseOutcome], seconds: float) -> None:
    for outcome in ended:
        if not outcome.passed:
            printing.OUT.print(f"{outcome.file}: {outcome.name}", style="bold", soft_wrap=True)
            for line in outcome.differences:
                printing.OUT.print(f"  {line}", style=_STYLES.get(line[:1], ""), soft_wrap=True)
    content = _content(ended)
    failed = f", {content['failed']} failed" if content["failed"] else ""
    printing.print_line(f"{content['passed']} passed{failed} in {seconds:.2f} s")
