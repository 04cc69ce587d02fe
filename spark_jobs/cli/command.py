"""A command of `tidemark`: the arguments that all of them share, and one way to answer and to fail.

A command is a function that takes a `Request` and options, and returns an `Answer`:

    @pipeline_command
    def status(request: Request) -> Answer: ...         tidemark status FILE [--set KEY=VALUE] [--json]
"""

from __future__ import annotations

import inspect
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from spark_jobs.cli import interrupt, live_line, log_file, printing, recorded_runs
from spark_jobs.cli.json_values import json_value
from spark_jobs.cli.live_line import LiveLine
from spark_jobs.code_of_error import code_of
from spark_jobs.job_protocol import ExitCode, Option, StepName
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.pipeline import Pipeline, PipelineError, lake_folder, load
from spark_jobs.pipeline.environment import LAKE, hide_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.jobs.runs.runner import Runner
    from spark_jobs.tables.lake import Lake
    from spark_jobs.tables.run import Run

File = Annotated[str, typer.Argument(help="The pipeline file.", metavar="FILE")]
Override = Annotated[
    list[str],
    typer.Option(Option.SET, metavar="KEY=VALUE", help="Override a setting, such as replay.mode=complete."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]


@dataclass(frozen=True)
class Answer:
    """What a command prints: `content` as JSON with `--json`, otherwise what `show` prints for people."""

    content: Mapping[str, Any]
    show: Callable[[], None]

    @classmethod
    def line(cls, content: Mapping[str, Any], text: object) -> Answer:
        """Return an answer that is one line for people."""
        return cls(content, lambda: printing.print_line(text))


@dataclass(frozen=True)
class Request:
    """A command for one pipeline file: the pipeline with its overrides, and what a command opens for it."""

    file: str
    pipeline: Pipeline
    command: str
    progress: LiveLine
    #: The sessions that the command has opened.
    sessions: list[SparkSession] = field(default_factory=list)
    uses_spark_alone: bool = False

    @property
    def lake(self) -> Lake:
        """The folder of the pipeline's tables."""
        from spark_jobs.tables.lake import Lake

        return Lake.of(self.pipeline.name)

    def open_session(self, then: Sequence[StepName] = ()) -> SparkSession:
        """Open the session that the command works in; what the steps `then` need is imported while Java starts."""
        from spark_jobs.cli.spark_session import open_session
        from spark_jobs.tables.source_size import has_few_rows

        name = f"tidemark {self.command} {self.pipeline.name}"
        few_rows = has_few_rows(self.pipeline)
        spark = open_session(name, self.progress, few_rows=few_rows, beside=partial(_import, then))
        from spark_jobs.jobs.runs.either_engine import prepare_engine

        prepare_engine(spark, self.pipeline, partial(self.progress, self.command), leave=self.uses_spark_alone)
        self.sessions.append(spark)
        return spark

    def session(self) -> SparkSession:
        """Return the session that the command has opened; without one, open it."""
        return self.sessions[-1] if self.sessions else self.open_session()

    def open_runner(self, slices: int = 1, wait_s: float = 0, then: Sequence[StepName] = ()) -> Runner:
        """Open a session for the steps `then`, and return what takes the steps of runs in it."""
        spark = self.open_session(then)
        from spark_jobs.jobs.runs.runner import Runner

        return Runner(spark, self.pipeline, self.lake, progress=self.progress, slices=slices, wait_s=wait_s)

    def runs(self) -> list[Run]:
        """Return all runs in the ledger. Raises LakeError."""
        return recorded_runs.of(self.lake)

    def name_new_lake(self) -> None:
        """Show the path of a lake that does not exist yet."""
        folder = self.lake.folder
        if folder is not None and not folder.parent.exists():
            self.progress(self.command, f"the lake {folder.parent} is new")

    def require_sources(self) -> None:
        """Raise InputError for a source whose local folder holds no Delta table."""
        from spark_jobs.tables.errors import SourceError
        from spark_jobs.tables.source_tables import require_local, tables_of

        try:
            for table in tables_of(self.pipeline).values():
                require_local(table)
        except SourceError as problem:
            raise InputError(self.pipeline.all_located(str(problem)), code=problem.code) from problem


def _import(steps: Sequence[StepName]) -> None:
    # Brings PySpark, which takes longer than a command without Spark.
    from spark_jobs.jobs.runs.steps import import_beside

    import_beside(steps)


def pipeline_command(body: Callable[..., Answer], name: str = "") -> Callable[..., None]:
    """Make a command of `body`: it takes FILE, the options of `body`, `--set` and `--json`.

    `name` is the name of the command, by default that of `body`.
    """
    name = name or body.__name__

    @wraps(body)
    def command(file: str, override: list[str], as_json: bool, **options: Any) -> None:
        with answering(as_json, [file, *(part for text in override for part in (Option.SET, text))]) as answer:
            with (
                _lake_of_project(file),
                live_line.displayed(name) as progress,
                interrupt.answered(progress, as_json),
            ):
                request = Request(file, _load(file, override), name, progress)
                progress.lake = request.lake
                result = _answered(body, request, options)
            answer(result)

    hints = get_type_hints(body, include_extras=True)
    _, *own = inspect.signature(body).parameters.values()
    parameters = [
        Parameter("file", Parameter.POSITIONAL_OR_KEYWORD, annotation=File),
        *(parameter.replace(annotation=hints[parameter.name]) for parameter in own),
        Parameter("override", Parameter.POSITIONAL_OR_KEYWORD, annotation=Override, default=[]),
        Parameter("as_json", Parameter.POSITIONAL_OR_KEYWORD, annotation=AsJson, default=False),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _answered(body: Callable[..., Answer], request: Request, options: Mapping[str, Any]) -> Answer:
    """Return the answer of a command; if the native engine fails in its session, that of Spark alone."""
    try:
        return body(request, **options)
    except Exception as problem:
        if not request.sessions:
            raise
        from spark_jobs.jobs.runs.either_engine import leave_after

        if not leave_after(problem, request.sessions, partial(request.progress, request.command)):
            raise
    # The answer of a session that is opened again: it would use the native engine again.
    return body(replace(request, uses_spark_alone=True), **options)


@contextmanager
def answering(as_json: bool, arguments: Sequence[str] = ()) -> Iterator[Callable[[Answer], None]]:
    """Yield what prints the answer; an error becomes one clear message and its exit code.

    `arguments` are the file and its overrides, which the command that accepts a blocked run repeats.
    """
    try:
        yield lambda answer: _print_json(answer.content) if as_json else _show(answer)
    except (PipelineError, InputError) as problem:
        _fail(as_json, ExitCode.WRONG_INPUT, problem, str(problem))
    except BlockedError as problem:
        text, report = _blocked(problem, arguments), problem.report
        _fail(as_json, ExitCode.BLOCKED, problem, text, run_id=problem.run_id, report=report)
    except Exception as problem:
        from spark_jobs.jobs.runs import failures

        _fail(as_json, ExitCode.FAILED, problem, failures.describe(problem))


def _blocked(problem: BlockedError, arguments: Sequence[str]) -> str:
    """Return the message of a blocked run, with its report and the command that publishes it all the same."""
    accept = shlex.join(
        ["tidemark", StepName.ACCEPT, *arguments, "--run", problem.run_id, Option.BECAUSE, "WHO AND WHY"]
    )
    report = [] if problem.report is None else [f"report: {problem.report}"]
    return "\n".join([str(problem), f"Run {problem.run_id} is not published.", *report, f"To publish it: {accept}"])


def _print_json(content: Mapping[str, Any]) -> None:
    print(hide_values(json.dumps(json_value(content), allow_nan=False)))


def _show(answer: Answer) -> None:
    answer.show()


def _fail(as_json: bool, exit_code: ExitCode, problem: Exception, message: str, **more: str | None) -> None:
    message, code = hide_values(message), code_of(problem)
    log = log_file.current() if exit_code == ExitCode.FAILED else None
    if as_json:
        _print_json(
            {"error": message, "code": code, "exit_code": exit_code, **more, **({"log": str(log)} if log else {})}
        )
    printing.ERR.print(message, style="red", soft_wrap=True)
    if log:
        printing.ERR.print(f"log of Spark and Java: {log}", soft_wrap=True)
    printing.ERR.print(f"code {code}: tidemark explain {code}", style="dim", soft_wrap=True)
    sys.exit(exit_code)


@contextmanager
def _lake_of_project(file: str) -> Iterator[None]:
    """Set TIDEMARK_LAKE, where it is unset, to the lake of the project that the file is in."""
    is_set = bool(os.environ.get(LAKE))
    if not is_set:
        os.environ[LAKE] = lake_folder(start=Path(file).parent)
    try:
        yield
    finally:
        if not is_set:
            del os.environ[LAKE]


def _load(file: str, override: list[str]) -> Pipeline:
    from spark_jobs.jobs.options import parse_overrides

    return load(file, overrides=parse_overrides(override))
