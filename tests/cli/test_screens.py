"""The screens of the command: what each command prints at 80 and at 160 columns, on one small pipeline.

A screen is a file in `screens/`. After a change that is meant, write them again and look at the difference:

    TIDEMARK_WRITE_SCREENS=1 .venv/bin/python -m pytest tests/cli/test_screens.py
"""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from spark_jobs.cli import command, printing
from spark_jobs.cli.app import COMMANDS, app
from spark_jobs.cli.command import Answer
from tests.support import history

WIDTHS = (80, 160)
SCREENS = Path(__file__).parent / "screens"

FILE = """
name: readings
source:
  table: {table}
  event_time: happened_at
  arrival_time: stored_at
  source_partition: [site]
  tie_break: [id]
watermark: {{out_of_orderness: 10 seconds, emit: {{every: 30 seconds}}}}
windows:
  kind: tumbling
  size: 10 minutes
  key: [device]
  allowed_lateness: 10 minutes
  aggregates: {{rows: count(*), mean: avg(reading)}}
quality: {{max_too_late_ratio: 0.5}}
"""
_SHORTER = "windows.allowed_lateness=1 minute"
#: The commands in the order in which they run, by the name of their screen.
RUNS: dict[str, tuple[str, ...]] = {
    "status_without_runs": ("status",),
    "check": ("check",),
    "plan_first_run": ("plan",),
    "replay_blocked": ("replay", "--set", "quality.max_too_late_ratio=0"),
    "replay": ("replay",),
    "replay_again": ("replay",),
    "plan_published": ("plan",),
    "plan_after_the_data": ("plan", "--from", "2030-01-01"),
    "replay_other_lateness": ("replay", "--set", _SHORTER),
    "status": ("status",),
    "compare": ("compare", "--limit", "3"),
    "late": ("late", "--by", "partition", "--by", "lateness"),
    "late_invalid": ("late", "--invalid"),
    "explain_rows": ("explain", "--row", "id in (10, 13, 100)"),
    "explain_window": ("explain", "--window", "2024-03-30T21:50", "--key", "device=b"),
    "advise": ("advise", "--bounds", "10s,5m", "--lateness", "0s,10m"),
    "rollback": ("rollback", "--run", "{first}"),
    "repair": ("repair", "--dry-run"),
    "report": ("report", "--run", "{first}"),
    "maintain": ("maintain", "--dry-run"),
    "handover": ("handover",),
    "status_of_parts": ("status",),
    "unknown_run": ("report", "--run", "r000000000000000"),
}


class _Screens:
    """Runs commands, and returns what each shows at each width, without what differs from run to run."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, patch
        self._answers: list[Answer] = []
        self.ids: dict[str, str] = {}
        patch.setattr(command, "_show", self._answers.append)

    def of(self, arguments: tuple[str, ...]) -> str:
        """Return the screens of a command after it has run."""
        name, *options = arguments
        options = [option.format(first=next(iter(self.ids), "")) for option in options]
        self._answers.clear()
        environment = {"TIDEMARK_LAKE": str(self._folder / "lake")}
        ended = CliRunner().invoke(app, [name, str(self._folder / "readings.yaml"), *options], env=environment)
        parts = [f"$ tidemark {shlex.join(arguments)}", *ended.stderr.splitlines()]
        for answer in self._answers:
            for width in WIDTHS:
                parts += [f"-- {width} columns", *self._lines(answer, width)]
        return self._constant("\n".join([*parts, f"-- exit code {ended.exit_code}"]))

    def _lines(self, answer: Answer, width: int) -> list[str]:
        out = printing.SafeConsole(file=io.StringIO(), width=width)
        self._patch.setattr(printing, "OUT", out)
        answer.show()
        assert isinstance(out.file, io.StringIO)
        return [line.rstrip() for line in out.file.getvalue().splitlines()]

    def _constant(self, text: str) -> str:
        """Replace ids, times of this machine, sizes and the folder."""
        text = text.replace(str(self._folder), "/home/you")
        text = re.sub(r"\br[0-9a-f]{15}\b", lambda match: self._id(match[0]), text)
        text = re.sub(r"\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d(?::\d\d)?", _of_clock, text)
        text = re.sub(r"took [\d,.]+ s", "took 1.0 s", text)
        return re.sub(r" +[\d,.]+ (KiB|MiB|B)\b", " 1.0 KiB", text) + "\n"

    def _id(self, run: str) -> str:
        if run.strip("r0") == "":
            return run
        return self.ids.setdefault(run, f"r{len(self.ids) + 1:015}")


def _of_clock(match: re.Match[str]) -> str:
    return "2026-01-01 00:00:00"[: len(match[0])] if not match[0].startswith("2030") else match[0]


@pytest.fixture(name="screens", scope="module")
def _screens(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("screens")
    table = history.land(session, history.events(400), folder / "events")
    (folder / "readings.yaml").write_text(FILE.format(table=table))
    with pytest.MonkeyPatch.context() as patch:
        running = _Screens(folder, patch)
        yield {name: running.of(arguments) for name, arguments in RUNS.items()}


def _check(name: str, text: str) -> None:
    file = SCREENS / f"{name}.txt"
    if os.environ.get("TIDEMARK_WRITE_SCREENS"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.spark
@pytest.mark.parametrize("name", RUNS)
def test_a_command_shows_its_screen(screens: dict[str, str], name: str) -> None:
    _check(name, screens[name])


@pytest.mark.spark
@pytest.mark.parametrize("name", RUNS)
def test_no_line_of_an_answer_at_80_columns_is_cut_or_wrapped(screens: dict[str, str], name: str) -> None:
    tables = screens[name].split("-- 160 columns", maxsplit=1)[0]
    assert "…" not in tables


@pytest.mark.parametrize("name", ["program", *(c.__name__ for c in COMMANDS)])
def test_a_page_of_help_is_its_screen(name: str) -> None:
    arguments = ["--help"] if name == "program" else [name, "--help"]
    pages = []
    for width in WIDTHS:
        page = CliRunner().invoke(
            app, arguments, env={"COLUMNS": str(width), "XDG_STATE_HOME": ""}, prog_name="tidemark"
        )
        pages += [f"-- {width} columns", *(line.rstrip() for line in page.stdout.splitlines())]
    _check(f"help_{name}", "\n".join(pages) + "\n")


def test_each_screen_belongs_to_a_command() -> None:
    names = {*RUNS, "help_program", *(f"help_{c.__name__}" for c in COMMANDS)}
    assert {file.stem for file in SCREENS.glob("*.txt")} == names
    without_screen = {"new", "land", "init", "accept", "setup", "package", "test"}
    assert {arguments[0] for arguments in RUNS.values()} >= {c.__name__ for c in COMMANDS} - without_screen
