"""Commands about the settings of a pipeline file: check, advise, init. None computes results."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_jobs.cli import interrupt, live_line, printing
from spark_jobs.cli.command import Answer, AsJson, Request, answering, pipeline_command


@pipeline_command
def check(request: Request) -> Answer:
    """Validate the file, and where the source can be reached its columns, types and expressions."""
    request.require_sources()
    from spark_jobs.jobs.plan.plan import checked

    versions = checked(request.open_session(), request.pipeline)
    content = {
        "pipeline": request.pipeline.name,
        "fingerprint": request.pipeline.fingerprint,
        "source_version": next(iter(versions.values())),
        "valid": True,
    }
    fits = f"version {', '.join(map(str, versions.values()))} of {request.pipeline.source.table}"
    return Answer(content, lambda: printing.OUT.print(f"{request.file}: valid, and fits {fits}"))


@pipeline_command
def advise(
    request: Request,
    bounds: Annotated[
        str, typer.Option(metavar="DURATIONS", help="Bounds to compare, such as 5m,1h; by default from the data.")
    ] = "",
    lateness: Annotated[
        str, typer.Option(metavar="DURATIONS", help="Allowed latenesses to compare, such as 0s,2h.")
    ] = "",
    target: Annotated[
        str, typer.Option(metavar="SHARE", help="The share of the rows that results should have.")
    ] = "99.99%",
    write: Annotated[bool, typer.Option("--write", help="Write the recommended settings into the file.")] = False,
) -> Answer:
    """Compare bounds and latenesses on the source's history, to the row; nothing is replayed."""
    request.require_sources()
    from spark_jobs.cli import print_advice
    from spark_jobs.jobs.advise import advise, candidates

    settings = advise.Settings(
        bounds=candidates.parse_durations("--bounds", bounds),
        latenesses=candidates.parse_durations("--lateness", lateness),
        target=candidates.parse_target(target),
    )
    advice = advise.advise(request.open_session(), request.pipeline, settings, progress=request.progress)
    content = advice.as_json()
    if not write:
        return Answer(content, lambda: print_advice.show(printing.OUT, advice))
    is_changed = advise.write(request.pipeline, advice.recommended)

    def show() -> None:
        print_advice.show(printing.OUT, advice)
        printing.print_line(f"{request.file}: {'written' if is_changed else 'has these settings already'}")

    return Answer({**content, "written": is_changed}, show)


def init(
    table: Annotated[str, typer.Argument(help="A Delta path, or catalog.schema.table.", metavar="TABLE")],
    file: Annotated[str, typer.Argument(help="The file to write; by default named after the table.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a first pipeline file for a table, with the reason for each guess in it."""
    with answering(as_json) as answer:
        from spark_jobs.cli.spark_session import open_session
        from spark_jobs.jobs.advise import column_roles, init

        target = file or f"{column_roles.pipeline_name(table)}.yaml"
        if not force:
            init.refuse_existing(target)
        with live_line.displayed("init") as progress, interrupt.answered(progress, as_json):
            draft = init.draft(open_session("tidemark init", progress), table, progress=progress)
            init.write(draft, target, force=force)
        answer(Answer.line({"file": target, **draft.as_json()}, f"{target}: written; check what it guesses"))
