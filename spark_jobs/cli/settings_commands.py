"""Commands about the settings of a pipeline file: check and advise. None computes results."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_jobs.cli import printing
from spark_jobs.cli.command import Answer, Request, pipeline_command


@pipeline_command
def check(request: Request) -> Answer:
    """Validate the file against the source: columns, types, expressions, and the times of a sample of rows."""
    request.require_sources()
    from spark_jobs.jobs.plan import sample
    from spark_jobs.jobs.plan.check import checked, warnings
    from spark_jobs.jobs.publish.registration import require_names

    spark = request.open_session()
    versions = checked(spark, request.pipeline)
    require_names(spark, request.pipeline, request.lake)
    samples = sample.sampled(spark, request.pipeline, versions)
    notes = [*warnings(spark, request.pipeline, versions), *(line for s in samples for line in s.warnings())]
    content = {
        "pipeline": request.pipeline.name,
        "fingerprint": request.pipeline.fingerprint,
        "source_version": next(iter(versions.values())),
        "valid": True,
        "warnings": notes,
    }
    fits = f"version {', '.join(map(str, versions.values()))} of {request.pipeline.source.table}"

    def show() -> None:
        printing.print_line(f"{request.file}: valid, and fits {fits}")
        for note in notes:
            printing.print_line(f"warning: {note}")

    return Answer(content, show)


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
