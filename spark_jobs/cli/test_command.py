"""The command test: the cases of a pipeline, replayed without Java, with a diff of what is not as expected."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spark_jobs.cli import live_line, printing
from spark_jobs.cli.command import Answer, AsJson, answering
from spark_jobs.code_of_error import code_of
from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import ExitCode
from spark_jobs.jobs.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.cases.running import CaseFailure, CaseOutcome

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
        ended, failures = _ended(files, on_spark=spark)
        content = _content(ended, failures)
        answer(Answer(content, lambda: _show(ended, content, perf_counter() - began)))
        if failures:
            _show_failures(failures)
            sys.exit(content["exit_code"])
        if not all(outcome.passed for outcome in ended):
            sys.exit(ExitCode.FAILED)


def _ended(files: Sequence[str], *, on_spark: bool) -> tuple[list[CaseOutcome], list[Failure]]:
    """Replay all cases; what cannot be replayed is a failure, and hides no outcome."""
    from spark_jobs.cases.engines import OnSpark, Reference
    from spark_jobs.cases.running import CaseFailure, CaseOutcome, results

    paths, failures = _paths(files)
    with live_line.displayed("test") as progress:
        engine = OnSpark(lambda: _session(progress)) if on_spark else Reference()
        replayed = list(results(paths, engine))
    failures += [_failure(result) for result in replayed if isinstance(result, CaseFailure)]
    ended = [result for result in replayed if isinstance(result, CaseOutcome)]
    # A pipeline file that is wrong is so for each of its cases.
    return ended, list({failure.problem: failure for failure in reversed(failures)}.values())[::-1]


@dataclass(frozen=True)
class Failure:
    """A file or a case that was not replayed; `exit_code` is that of the command for this failure alone."""

    file: str
    name: str
    problem: str
    code: str
    exit_code: ExitCode


def _failure(result: CaseFailure) -> Failure:
    problem = result.problem
    if not result.is_input:
        from spark_jobs.jobs.runs import failures

        problem = f"{result.file}: case '{result.name}': {failures.describe(result.error)}"
    exit_code = ExitCode.WRONG_INPUT if result.is_input else ExitCode.FAILED
    return Failure(str(result.file), result.name, problem, code_of(result.error), exit_code)


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


def _paths(files: Sequence[str]) -> tuple[list[Path], list[Failure]]:
    """Return the files, and the files of cases in folders; a folder without cases is a failure."""
    from spark_jobs.pipeline.loading import ENDS_OF_CASES

    paths: list[Path] = []
    failures = []
    for file in files:
        path = Path(file)
        of_file = [path]
        if path.is_dir():
            of_file = sorted(case for end in ENDS_OF_CASES for case in path.rglob(f"*{end}"))
        if not of_file:
            problem = f"FILE: found no file *{' or *'.join(ENDS_OF_CASES)} in {path}"
            failures.append(Failure(file, "", problem, ErrorCode.FILE_UNREADABLE, ExitCode.WRONG_INPUT))
        paths += of_file
    return list(dict.fromkeys(paths)), failures


def _session(progress: Any) -> Any:
    from spark_jobs.cli.spark_session import open_session

    return open_session("tidemark test", progress, few_rows=True, beside=lambda: None)


def _content(ended: Sequence[CaseOutcome], failures: Sequence[Failure]) -> dict[str, Any]:
    content: dict[str, Any] = {
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
        "errors": [
            {"file": failure.file, "name": failure.name, "error": failure.problem, "code": failure.code}
            for failure in failures
        ],
    }
    if failures:
        content["error"] = "\n".join(failure.problem for failure in failures)
        content["code"] = failures[0].code
        content["exit_code"] = max(failure.exit_code for failure in failures)
    return content


def _show(ended: Sequence[CaseOutcome], content: dict[str, Any], seconds: float) -> None:
    for outcome in ended:
        if not outcome.passed:
            printing.OUT.print(f"{outcome.file}: {outcome.name}", style="bold", soft_wrap=True)
            for line in outcome.differences:
                printing.OUT.print(f"  {line}", style=_STYLES.get(line[:1], ""), soft_wrap=True)
    failed = f", {content['failed']} failed" if content["failed"] else ""
    errors = f", {len(content['errors'])} not replayed" if content["errors"] else ""
    printing.print_line(f"{content['passed']} passed{failed}{errors} in {seconds:.2f} s")


def _show_failures(failures: Sequence[Failure]) -> None:
    for failure in failures:
        printing.ERR.print(failure.problem, style="red", soft_wrap=True)
    for code in dict.fromkeys(failure.code for failure in failures):
        printing.ERR.print(f"code {code}: tidemark explain {code}", style="dim", soft_wrap=True)
