"""The `tidemark` command: one pipeline, without Airflow.

Exit codes: 0 done, 1 failed, 2 wrong input, 3 blocked by quality. With `--json` the answer is one JSON object on
standard output; what is being done goes to standard error either way.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spark_jobs.cli import printing
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.pipeline import Pipeline, PipelineError, load

if TYPE_CHECKING:
    from datetime import datetime

    from spark_jobs.jobs.runs.runner import Runner
    from spark_jobs.tables.interval import Interval
    from spark_jobs.tables.lake import Lake

app = typer.Typer(
    help="What a streaming job would have said, from the table that its events were stored in.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

File = Annotated[str, typer.Argument(help="The pipeline file.", metavar="FILE")]
From = Annotated[str, typer.Option("--from", help="Start of the first window, ISO 8601, UTC unless it has an offset.")]
To = Annotated[str, typer.Option("--to", help="End of the last window, ISO 8601, UTC unless it has an offset.")]
ArrivedTo = Annotated[
    str, typer.Option("--arrived-to", help="Read what arrived before this; what is open then stays open. As --from.")
]
Restate = Annotated[
    bool, typer.Option("--restate", help="Replace results of other settings, and leave those around them as they are.")
]
Override = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting of the file, such as replay.mode=complete."),
]
Slices = Annotated[int, typer.Option(min=1, help="How many stretches of windows to write one after the other.")]
Wait = Annotated[str, typer.Option(help="How long to wait for another process that works on these windows.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]


@app.command()
def check(file: File, override: Override = [], as_json: AsJson = False) -> None:  # noqa: B006  typer reads the default
    """Validate the file, and where the source can be reached its columns, types and expressions."""
    with _answering(as_json):
        pipeline = _load(file, override)
        from spark_jobs.jobs.plan.plan import checked
        from spark_jobs.session import open_session

        versions = checked(open_session(f"tidemark check {pipeline.name}"), pipeline)
        found = {
            "pipeline": pipeline.name,
            "fingerprint": pipeline.fingerprint,
            "source_version": next(iter(versions.values())),
            "valid": True,
        }
        fits = f"version {', '.join(map(str, versions.values()))} of {pipeline.source.table}"
        _answer(as_json, found, lambda: printing.OUT.print(f"{file}: valid, and fits {fits}"))


@app.command()
def advise(
    file: File,
    bounds: Annotated[str, typer.Option(help="Bounds to weigh, such as 5m,1h; otherwise the data names some.")] = "",
    lateness: Annotated[str, typer.Option(help="Allowed latenesses to weigh, such as 0s,2h.")] = "",
    target: Annotated[str, typer.Option(help="The share of the rows that results should have.")] = "99.99%",
    write: Annotated[bool, typer.Option("--write", help="Put what is recommended into the file.")] = False,
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Weigh bounds and latenesses by the source's history, to the row; nothing is replayed."""
    with _answering(as_json):
        from spark_jobs.cli import print_advice
        from spark_jobs.jobs import progress
        from spark_jobs.jobs.advise import advise as advising
        from spark_jobs.jobs.advise import candidates
        from spark_jobs.session import open_session

        pipeline = _load(file, override)
        asked = advising.Settings(
            bounds=candidates.parse_durations("--bounds", bounds),
            latenesses=candidates.parse_durations("--lateness", lateness),
            target=candidates.parse_target(target),
        )
        spark = open_session(f"tidemark advise {pipeline.name}")
        advice = advising.advise(spark, pipeline, asked, progress=progress.to_stderr)
        written = advising.write(pipeline, advice.recommended) if write else None
        found = {**advice.as_json(), **({} if written is None else {"written": written})}
        _answer(as_json, found, lambda: print_advice.show(printing.OUT, advice))
        if written is not None and not as_json:
            printing.OUT.print(f"{file}: {'written' if written else 'says so already'}", soft_wrap=True)


@app.command()
def init(
    table: Annotated[str, typer.Argument(help="A Delta path, or catalog.schema.table.", metavar="TABLE")],
    file: Annotated[str, typer.Argument(help="The file to write; otherwise named after the table.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a first pipeline file for a table, with the reason for each guess in it."""
    with _answering(as_json):
        from spark_jobs.jobs import progress
        from spark_jobs.jobs.advise import column_roles
        from spark_jobs.jobs.advise import init as drafting
        from spark_jobs.session import open_session

        target = file or f"{column_roles.pipeline_name(table)}.yaml"
        if not force:
            drafting.refuse_existing(target)
        drafted = drafting.draft(open_session("tidemark init"), table, progress=progress.to_stderr)
        drafting.write(drafted, target, force=force)
        found = {"file": target, **drafted.as_json()}
        _answer(
            as_json, found, lambda: printing.OUT.print(f"{target}: written; look at what it guesses", soft_wrap=True)
        )


@app.command()
def plan(
    file: File,
    start: From = "",
    end: To = "",
    arrived_to: ArrivedTo = "",
    restate: Restate = False,
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Show what a replay would read and replace; nothing is written."""
    with _answering(as_json):
        pipeline = _load(file, override)
        asked = _interval(start, end)
        from spark_jobs.jobs.plan.dry_run import foreseen
        from spark_jobs.session import open_session

        spark = open_session(f"tidemark plan {pipeline.name}")
        found = foreseen(spark, pipeline, _lake(pipeline), asked, _moment(arrived_to), restate=restate)
        _answer(as_json, found, lambda: printing.print_pairs(f"Plan for {pipeline.name}", found))


@app.command()
def replay(
    file: File,
    start: From = "",
    end: To = "",
    arrived_to: ArrivedTo = "",
    restate: Restate = False,
    slices: Slices = 1,
    wait: Wait = "0s",
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Replay, check, publish and report."""
    with _answering(as_json):
        pipeline = _load(file, override)
        asked = _interval(start, end)
        runner = _runner(pipeline, slices, _seconds(wait))
        outcomes = runner.run(asked, _moment(arrived_to), restate=restate)
        _answer(as_json, printing.summary(outcomes), lambda: printing.print_outcomes(outcomes))


@app.command()
def report(
    file: File,
    run: Annotated[str, typer.Option(help="The run; otherwise the one published last.")] = "",
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Write the HTML report of a run."""
    with _answering(as_json):
        pipeline = _load(file, override)
        runner = _runner(pipeline)
        known = runner.find(run) if run else runner.latest()
        outcome = runner.step("report", known)
        _answer(as_json, printing.summary([outcome]), lambda: printing.OUT.print(outcome.report, soft_wrap=True))


@app.command()
def rollback(
    file: File,
    run: Annotated[str, typer.Option(help="The run to go back to, as status names it.")],
    wait: Wait = "0s",
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Publish again what was published when an earlier run had been."""
    with _answering(as_json):
        outcome = _runner(_load(file, override), wait_s=_seconds(wait)).rollback(run)
        _answer(as_json, printing.summary([outcome]), lambda: printing.OUT.print(outcome.message, soft_wrap=True))


@app.command()
def repair(
    file: File,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say which windows are due, and change nothing.")] = False,
    wait: Wait = "0s",
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Compute closed windows again that missed more rows than the pipeline allows, with these rows."""
    with _answering(as_json):
        pipeline = _load(file, override)
        from spark_jobs.jobs.operate import repair as repairing

        runner = _runner(pipeline, wait_s=_seconds(wait))
        due = repairing.find(runner.spark, pipeline, _lake(pipeline))
        outcome = repairing.foreseen(due, pipeline) if dry_run else repairing.repair(runner, due, pipeline)
        found = {**printing.summary([outcome]), "due": due.as_json()}
        _answer(as_json, found, lambda: printing.OUT.print(outcome.message, soft_wrap=True))


@app.command()
def accept(
    file: File,
    run: Annotated[str, typer.Option(help="The blocked run, as status names it.")],
    because: Annotated[str, typer.Option(help="Who accepts what has failed, and why; the ledger keeps it.")],
    wait: Wait = "0s",
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Publish a run that its checks have blocked all the same, without computing it again."""
    with _answering(as_json):
        runner = _runner(_load(file, override), wait_s=_seconds(wait))
        accepted = runner.accept(runner.find(run), because)
        outcomes = [runner.step(name, runner.find(accepted.run_id)) for name in ("publish", "report")]
        _answer(as_json, printing.summary(outcomes), lambda: printing.print_outcomes(outcomes))


@app.command()
def compare(
    file: File,
    before: Annotated[str, typer.Option(help="A published run; otherwise the one before the other.")] = "",
    after: Annotated[str, typer.Option(help="A published run; otherwise the one published last.")] = "",
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Show which windows have other results after a run than after an earlier one."""
    with _answering(as_json):
        pipeline = _load(file, override)
        from spark_jobs.jobs.operate import compare
        from spark_jobs.session import open_session

        spark = open_session(f"tidemark compare {pipeline.name}")
        found = compare.compare(spark, pipeline, _lake(pipeline), before, after)
        _answer(as_json, asdict(found), lambda: printing.print_comparison(found))


@app.command()
def maintain(
    file: File,
    retain: Annotated[
        str,
        typer.Option(help="Keep all that readers saw within this time, and what blocked and unfinished runs staged."),
    ] = "30 days",
    keep_runs: Annotated[int, typer.Option(min=1, help="Keep at least so many of the last published runs.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")] = False,
    wait: Wait = "0s",
    override: Override = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Put small files of the published tables together, and remove what nothing needs any more."""
    with _answering(as_json):
        pipeline = _load(file, override)
        from datetime import UTC, datetime, timedelta

        from spark_jobs.cli import print_maintenance
        from spark_jobs.jobs import progress
        from spark_jobs.jobs.operate import maintain
        from spark_jobs.jobs.step import seconds
        from spark_jobs.session import open_session
        from spark_jobs.tables.retention import Retention

        kept = Retention(datetime.now(UTC), timedelta(seconds=seconds("--retain", retain)), keep_runs)
        found = maintain.maintain(
            open_session(f"tidemark maintain {pipeline.name}"),
            _lake(pipeline),
            kept,
            dry_run=dry_run,
            wait_s=_seconds(wait),
            progress=progress.to_stderr,
        )
        _answer(as_json, print_maintenance.as_json(found), lambda: print_maintenance.show(printing.OUT, found))


@app.command()
def handover(file: File, override: Override = [], as_json: AsJson = False) -> None:  # noqa: B006
    """Tell from where a live job has to take over what is published, and write that to handover.json in the lake."""
    with _answering(as_json):
        pipeline = _load(file, override)
        from spark_jobs.cli import print_handover
        from spark_jobs.jobs.operate import handover as handing
        from spark_jobs.session import open_session

        lake = _lake(pipeline)
        found = handing.handover(open_session(f"tidemark handover {pipeline.name}"), pipeline, lake)
        written = handing.write(lake, found)
        _answer(
            as_json, {**found.as_json(), "file": written}, lambda: print_handover.show(printing.OUT, found, written)
        )


@app.command()
def status(file: File, override: Override = [], as_json: AsJson = False) -> None:  # noqa: B006
    """Show the pipeline's runs, the newest last, and what is published."""
    with _answering(as_json):
        pipeline = _load(file, override)
        from spark_jobs.session import open_session
        from spark_jobs.tables import ledger

        lake = _lake(pipeline)
        found = ledger.runs(open_session(f"tidemark status {pipeline.name}"), lake)
        published = next((r.run_id for r in reversed(found) if r.versions), None)
        rows = [printing.run_row(r) for r in found]
        answer = {"pipeline": pipeline.name, "lake": lake.home, "published_run": published, "runs": rows}
        _answer(as_json, answer, lambda: printing.print_runs(pipeline, lake, found, published))


def main() -> None:
    """Run the command."""
    app()


def _load(file: str, override: list[str]) -> Pipeline:
    from spark_jobs.jobs.options import parse_overrides

    return load(file, overrides=parse_overrides(override))


def _lake(pipeline: Pipeline) -> Lake:
    from spark_jobs.tables.lake import Lake

    return Lake.of(pipeline.name)


def _interval(start: str, end: str) -> Interval:
    from spark_jobs.jobs.step import interval

    return interval(start, end)


def _moment(text: str) -> datetime | None:
    from spark_jobs.jobs.step import moment

    return moment(text) if text else None


def _seconds(wait: str) -> float:
    from spark_jobs.jobs.step import seconds

    return seconds("--wait", wait)


def _runner(pipeline: Pipeline, slices: int = 1, wait_s: float = 0) -> Runner:
    from spark_jobs.jobs import progress
    from spark_jobs.jobs.runs.runner import Runner
    from spark_jobs.session import open_session

    spark = open_session(f"tidemark {pipeline.name}")
    return Runner(spark, pipeline, _lake(pipeline), progress=progress.to_stderr, slices=slices, wait_s=wait_s)


@contextmanager
def _answering(as_json: bool) -> Iterator[None]:
    """Turn what goes wrong into one clear message and the exit code that stands for it."""
    try:
        yield
    except (PipelineError, InputError) as problem:
        _refuse(as_json, 2, str(problem))
    except BlockedError as problem:
        _refuse(as_json, 3, str(problem))
    except Exception as problem:
        from spark_jobs.jobs.runs import failures

        _refuse(as_json, 1, failures.told(problem))


def _refuse(as_json: bool, code: int, message: str) -> None:
    if as_json:
        print(json.dumps({"error": message, "exit_code": code}))
    printing.ERR.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)


def _answer(as_json: bool, found: dict[str, Any], show: Callable[[], None]) -> None:
    if as_json:
        print(json.dumps(found, default=str))
    else:
        show()
