"""The page of the errors: each error that a user meets, its cause, cure and exit code, and a message of the product."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.generate import error_examples as examples
from docs.generate.exit_codes import COMMAND, code_of
from docs.generate.markdown import block, code, link, table, wrapped
from spark_jobs.error_codes import ErrorCode

_ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("spark_jobs", "plugins", "expectations", "dags", "docker")


@dataclass(frozen=True)
class Entry:
    """An error of the page.

    `shown_as` is the error that the command raises in its place. `program` decides the exit code; None: the error ends
    no program. `example` raises the error; None for an error of Airflow's part, which the page shows without a message.
    """

    cause: str
    cure: str
    example: Callable[[], object] | None
    shown_as: str = ""
    program: Path | None = COMMAND


_EMBEDDED = _ROOT / "plugins/tidemark_airflow/embedded/airflow.py"
_LANDING = _ROOT / "spark_jobs/jobs/land_flights.py"

#: Each error that a user meets.
ENTRIES: Mapping[str, Entry] = {
    "PipelineError": Entry(
        "A pipeline file has mistakes. The message contains every mistake, with line and key.",
        "Correct the file. `tidemark check FILE` validates it.",
        examples.broken_file,
    ),
    "InputError": Entry(
        "An option has a wrong value, or the pipeline and its source do not fit.",
        "Do what the message names. Nothing has changed.",
        examples.wrong_option,
    ),
    "StaleError": Entry(
        "Another run has published since this run was planned. It is a kind of `InputError`.",
        "Run the same command again. In Airflow, run the DAG again: a new run is planned.",
        examples.stale_run,
    ),
    "BlockedError": Entry(
        "Checks of the run failed, and `quality.on_failure` is `block` or `ask`. Nothing is published.",
        "Read the report. Correct the source or the settings, or publish the run with `tidemark accept`.",
        examples.blocked_run,
    ),
    "SourceError": Entry(
        "The source table cannot be read: it does not exist, or a version of it has been removed.",
        "Correct `source.table`, or plan the run again with the newest version.",
        examples.no_source,
        shown_as="InputError",
    ),
    "CatalogError": Entry(
        "The catalog of `publish_to` does not exist or refuses, or a name of a published table is another table's.",
        "Give Spark the settings of the catalog, or name another schema. Nothing has changed.",
        examples.no_catalog,
        shown_as="InputError",
    ),
    "TimeFieldError": Entry(
        "A column of times has another type than the pipeline file declares.",
        "Declare `unit` for numbers, `format` for text, and neither for a TIMESTAMP or DATE.",
        examples.time_without_unit,
        shown_as="InputError",
    ),
    "GeneratorError": Entry(
        "The class of a custom watermark cannot be imported, cannot be made, or failed at a row.",
        "Install the package where Tidemark and Spark's workers run, and correct the class or its arguments.",
        examples.no_generator,
        shown_as="InputError",
    ),
    "UnsupportedPipelineError": Entry(
        "The Spark engine does not support the pipeline, or the Python function does not fit it.",
        "Change the setting that the message names, or call the function that it names.",
        examples.join_as_windows,
        shown_as="InputError",
    ),
    "AuditError": Entry(
        "An expectation of `quality` cannot be computed: its type, table, column or argument does not exist.",
        "Correct the entry of `quality.expectations`, or the table of `quality.compare_with`.",
        examples.no_live_type,
        shown_as="InputError",
    ),
    "LockedError": Entry(
        "Another process works on windows that overlap, on this machine or on another.",
        "Wait for the other run, or repeat the command with `--wait '10 minutes'`.",
        examples.held_windows,
    ),
    "LeaseLostError": Entry(
        "This process was paused, or could not reach the lake, and another took over its windows.",
        "Run the same command again. It goes on from what is there, and publishes nothing twice.",
        examples.lost_lease,
    ),
    "OvertakenError": Entry(
        "Another run began to publish and has not ended, after several attempts to finish it.",
        "Run the same command again. It finishes the other run first.",
        examples.overtaken,
    ),
    "PublishError": Entry(
        "Staged rows do not fit the published table, files are missing, or the ledger does not contain the run.",
        "For other columns, replay without `--from` and `--to`. Otherwise restore the files or the table `runs`.",
        examples.unknown_publisher,
    ),
    "RegistrationError": Entry(
        "A run is published, and the catalog of `publish_to` then failed or refused the names of its tables.",
        "Repair the cause, then run the same command again. It computes nothing again, and makes the missing names.",
        examples.unregistered,
    ),
    "NothingPublishedError": Entry(
        "`read_published` or `create_views` finds no published run, or its files have been removed.",
        "Publish a run, name another run, or set `TIDEMARK_LAKE` to the lake that contains the tables.",
        examples.nothing_published,
    ),
    "RuntimeSetupError": Entry(
        "Java, Spark or the jars of Delta are missing, or have another hash than their lock. Or Python finds another "
        "package `expectations` before Tidemark's.",
        "Run `make setup` in a checkout, and `tidemark setup` in any other environment. Rename a package of that name.",
        examples.no_java,
    ),
    "DatasetMissingError": Entry(
        "The demo needs the package of flights, and the package is not installed.",
        "Install the project with its extra `demo`.",
        examples.no_data_set,
        program=_LANDING,
    ),
    "UnknownZoneError": Entry(
        "A flight of the demo has a destination without a known time zone.",
        "Add the airport to `MISSING_ZONES` in `spark_jobs.flights.times`.",
        examples.unknown_zone,
        program=_LANDING,
    ),
    "InstallationError": Entry(
        "A setting of the local Airflow is wrong: its port or its database.",
        "Correct the environment variable that the message names.",
        examples.wrong_port,
        program=_EMBEDDED,
    ),
    "BrokenPipelinesError": Entry(
        "Airflow loads `dags/pipelines`, and some files are broken. Airflow shows it as an import error.",
        "Correct the files. The DAGs of all other files run as before.",
        examples.broken_folder,
        program=None,
    ),
    "FormError": Entry(
        "A form in Airflow has wrong values. The task `plan` fails, with the message in its log.",
        "Start the DAG again with correct values. The message names each field.",
        None,
        program=None,
    ),
    "LakeError": Entry(
        "The page *Data quality* in Airflow cannot read the lake. The page shows the message.",
        "Set `TIDEMARK_LAKE` for Airflow's API server, and let the server read the folder.",
        None,
        program=None,
    ),
}
#: Errors that another error replaces before a user meets them, or that only the reference implementation raises.
INTERNAL: Mapping[str, str] = {
    "ProtocolError": "A result file is not the result of a job. Airflow reports that the job left no result.",
    "RefusedError": "becomes a line of `PipelineError`",
    "TooManyProblemsError": "ends the reading of a file; becomes `PipelineError`",
    "DurationError": "becomes a line of `PipelineError`, or an `InputError`",
    "IntervalsError": "a range that cannot be cut; becomes a line of `FormError`, or an `InputError`",
    "NeedsSparkError": "only Spark can make the plan; the same plan is then made by Spark",
    "UnknownChangesError": "changes of a source that cannot be found out; the plan reads everything and has the reason",
    "ReadAnewError": "a run over changes that is impossible; the plan reads everything and has the reason",
    "CommitConflictError": "another writer committed first; the commit is tried again",
    "UnreadablePatternError": "only the reference implementation: a datetime pattern that it does not support",
    "InstantOutOfTableError": "only the reference implementation: an instant outside the years 1 to 9999",
    "UnreadableExpressionError": "only the reference implementation: pass a Python function in place of the expression",
    "UnknownColumnError": "only the reference implementation: a column that the row does not have",
    "PartitionTypeError": "a column that cannot name source partitions; becomes an `InputError`",
    "OffsetError": "only the reference implementation: an offset that is no integer",
    "UnreadableAggregateError": "only the reference implementation: pass a Python function in place of the aggregate",
    "NoPublicationError": "a page of Airflow about a run that has published nothing; the page has the message",
    "TooManyRowsError": "a table too large for a page of Airflow; the page has the message",
    "WindowStartError": "an instant of `--window` that names no window, or several; becomes an `InputError`",
    "NotReplayedError": "a source that a page of Airflow does not read; the page states the reason beside its content",
    "TookTooLongError": "an answer too slow for a page of Airflow; the page has the message",
    "ShowSourceError": "a wrong value of `TIDEMARK_PAGES_SHOW_SOURCE`; pages of Airflow have the message",
    "AddressError": "a wrong address of a page of Airflow; the answer is the status 422 with the message",
    "KeyMisfitError": "another key in the address of a page than in the run; the answer is the status 422",
    "CaseError": "a file of cases with a mistake; `tidemark test` lists it with its file and case, and exits with 2",
    "YamlTextError": "a file of cases that is no YAML of its kind; becomes a `CaseError`",
    "TableError": "a table of a case with a mistake; becomes a `CaseError`",
    "DrawingError": "a drawing of a case with a mistake; becomes a `CaseError`",
    "UnreplayedError": "a case that the engine cannot replay; becomes a `CaseError`",
    "UnknownTableError": "a case expects a table or column that its pipeline lacks; becomes a `CaseError`",
}
_INTRODUCTION = """\
An error names the wrong value and what to do. `tidemark` and `spark_jobs/jobs/step.py` end with the exit code of the
error. The code itself made the messages below, which are broken into lines. In your message, values differ.
"""


_CODES = """\
`tidemark` prints the code of an error after its message, and `tidemark explain CODE` prints the cause and the cure.
With `--json`, and in the result file of a step, the key `code` has it.
A published code keeps its cause in later versions.
"""


def page() -> str:
    """Return the page."""
    parts = ["# Errors\n", _INTRODUCTION, "## Codes\n", _CODES]
    numbered = ((link(of, f"errors/{of}.md"), str(of.exit_code), of.summary) for of in ErrorCode)
    parts += [table(("code", "exit code", "error"), numbered), "## Classes\n"]
    rows = ((link(code(name), f"#{name.lower()}"), exit_code(name), entry.cause) for name, entry in ENTRIES.items())
    parts.append(table(("error", "exit code", "cause"), rows))
    for name, entry in ENTRIES.items():
        parts += _section(name, entry)
    parts += ["## Internal errors\n", "You do not meet these errors with the commands.\n"]
    parts.append(table(("error", "why"), ((code(name), why) for name, why in INTERNAL.items())))
    return "\n".join(parts)


def exit_code(name: str) -> str:
    """Return the exit code of the program that the error ends, or `none`."""
    entry = ENTRIES[name]
    if entry.program is None:
        return "none"
    codes = code_of(entry.program)
    for kind in (entry.shown_as, name, *bases_of(name)):
        if kind in codes:
            return str(codes[kind])
    return str(codes.get("Exception", 1))


@cache
def classes() -> Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return the error classes of the product by name: the modules that define each, with its bases."""
    modules_of: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}
    for folder in PRODUCT:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and node.name.endswith(("Error", "Exception")):
                    bases = tuple(ast.unparse(base) for base in node.bases)
                    modules_of[node.name] = (*modules_of.get(node.name, ()), (_dotted(path), bases))
    return modules_of


def _dotted(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix().removeprefix("plugins/").removesuffix(".py").replace("/", ".")


def bases_of(name: str) -> Iterator[str]:
    """Yield the product's classes that a class derives from, and Python's."""
    for _, bases in classes().get(name, ()):
        for base in bases:
            yield base
            yield from bases_of(base)


def _section(name: str, entry: Entry) -> Iterator[str]:
    yield f"## {code(name)}\n"
    as_other = f", shown as {link(code(entry.shown_as), '#' + entry.shown_as.lower())}" if entry.shown_as else ""
    modules = ", ".join(code(module) for module, _ in classes()[name])
    facts = (
        ("Cause", entry.cause),
        ("Cure", entry.cure),
        ("Exit code", f"{exit_code(name)}{as_other}."),
        ("Class", f"{code(name)} in {modules}."),
    )
    yield "".join(f"- **{title}**: {text}\n" for title, text in facts)
    if entry.example is not None:
        yield block(wrapped(str(examples.raised(entry.example))))
