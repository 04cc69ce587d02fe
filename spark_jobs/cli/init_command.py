"""The command init: a first pipeline file for a table."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.cli import live_line, printing
from spark_jobs.cli.command import Answer, AsJson, answering

if TYPE_CHECKING:
    from spark_jobs.jobs.draft.draft import Drafted
    from spark_jobs.jobs.draft.proposal import Answers


def init(
    table: Annotated[str, typer.Argument(help="A Delta path, or catalog.schema.table.", metavar="TABLE")],
    file: Annotated[str, typer.Argument(help="The file to write; by default named after the table.")] = "",
    event_time: Annotated[str, typer.Option(help="The column of the event time, such as payload.ts.")] = "",
    arrival_time: Annotated[str, typer.Option(help="The column of the arrival time, or none.")] = "",
    key: Annotated[list[str] | None, typer.Option(help="A column of the key, or none. Repeat it for more.")] = None,
    partition: Annotated[str, typer.Option(help="The column of the source partition, or none.")] = "",
    size: Annotated[str, typer.Option(help="The size of windows, such as 15m.")] = "",
    timezone: Annotated[str, typer.Option(help="The time zone of times without one, such as Europe/Berlin.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accept all guesses without questions.")] = False,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print the file, and write none.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a first pipeline file for a table, with the evidence for each guess in it.

    On a terminal the command prompts where the evidence is thin. Anywhere else the line has the comment CHOOSE.
    """
    with answering(as_json) as answer:
        from spark_jobs.jobs.draft import draft, pipeline_text
        from spark_jobs.jobs.draft.proposal import Answers

        target = file or f"{pipeline_text.pipeline_name(table)}.yaml"
        if not stdout:
            draft.refuse_unwritable(target, force=force)
        draft.refuse_no_table(table)
        answers = Answers(
            event_time=event_time or None,
            arrival_time=arrival_time or None,
            source_partition=partition or None,
            key=tuple(key) if key else None,
            size=size or None,
            timezone=timezone or None,
        )
        drafted = _drafted(table, answers, is_interactive=not (yes or as_json) and _is_terminal())
        if stdout:
            answer(Answer({**drafted.as_json(), "text": drafted.text}, lambda: print(drafted.text, end="")))
            return
        draft.write(drafted, target, force=force)
        answer(Answer({"file": target, **drafted.as_json()}, lambda: _show(target, drafted)))


def _drafted(table: str, answers: Answers, *, is_interactive: bool) -> Drafted:
    from spark_jobs.cli.spark_session import open_session
    from spark_jobs.jobs.draft.draft import draft, survey
    from spark_jobs.jobs.runs.either_engine import by_either_engine

    with live_line.displayed("init") as progress:
        spark = open_session("tidemark init", progress)
        surveyed = by_either_engine(
            lambda: survey(spark, table, answers, progress=progress), spark, partial(progress, "init")
        )
    if is_interactive:
        from spark_jobs.cli import questions

        answers = questions.decide(surveyed.profile, answers, questions.on_terminal)
    with live_line.displayed("init") as progress:
        return draft(surveyed, answers, progress=progress)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _show(target: str, drafted: Drafted) -> None:
    """Print the lines to decide, the rows that are not used, and the next command."""
    printing.print_line(f"{target}: written")
    for choice in drafted.choices:
        further = f" (or {', '.join(choice.alternatives[:3])})" if choice.alternatives else ""
        printing.print_line(f"choose {choice.setting}: {choice.value}{further}")
    for invalid in drafted.invalid:
        printing.print_line(f"invalid: {invalid.in_words()}")
    printing.print_line(f"next: tidemark check {target}")
