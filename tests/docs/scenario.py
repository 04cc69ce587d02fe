"""A scenario runs the steps of one page in one folder, in one Spark session, as a reader would run them."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import typer
import yaml
from pyspark.sql import DataFrame, SparkSession
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.pipeline import Pipeline, load, parse
from spark_jobs.pipeline.loading import CASES
from spark_jobs.replay import replay
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import create_views, read_published
from tests.docs import examples
from tests.docs.markdown import Step, rows
from tests.docs.output import Output
from tests.docs.pipelines import BASES

ROOT = Path(__file__).parents[2]
#: Kinds of blocks that are pictures, not input.
PICTURES = ("text", "mermaid")
#: Programs that only a command with the word `parse` may name.
OUTSIDE = ("airflow", "crontab", "docker", "docker/make-secrets", "flink", "open", "pip", "source", "spark-submit")


class Scenario:
    """The folder of a page and what its steps have made in it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.output = Output(folder)
        self.pipeline: Pipeline | None = None
        self.days: dict[str, date] = {}
        self.names: dict[str, Any] = {"spark": spark}

    def begin_after(self, earlier: Scenario) -> None:
        """Start from a copy of everything that another page left behind."""
        shutil.copytree(earlier.folder, self.folder, dirs_exist_ok=True)
        self.output.ids.update(earlier.output.ids)
        self.pipeline, self.days = earlier.pipeline, dict(earlier.days)

    def take(self, step: Step) -> None:
        """Run one step. Raises AssertionError if the page is wrong, and ValueError for a step of an unknown kind."""
        if "shown" in step.words or step.kind in PICTURES:
            return
        kinds: Mapping[str, Callable[[Step], None]] = {
            "bash": self._console,
            "console": self._console,
            "csv": self._file,
            "example": self._example,
            "python": self._python,
            "sql": self._sql,
            "table": self._table,
            "yaml": self._yaml,
        }
        if step.kind not in kinds:
            raise ValueError(f"{step.place}: a block of the kind '{step.kind}'; expected one of {', '.join(kinds)}")
        try:
            kinds[step.kind](step)
        except Exception as wrong:
            raise AssertionError(f"{step.place}: {wrong}") from wrong

    def _example(self, step: Step) -> None:
        for name in step.words.get("start", "").split():
            examples.make(self.spark, name, self.folder)
        for name in step.words.get("append", "").split():
            self.days[name] = self.days.get(name, examples.FIRST_DAY) + timedelta(days=1)
            examples.append(self.spark, name, self.folder, self.days[name])

    def _file(self, step: Step) -> None:
        (self.folder / step.words["file"]).write_text(step.text)

    def _yaml(self, step: Step) -> None:
        if "file" in step.words:
            self._file(step)
            if step.words["file"].endswith(CASES):
                return
        document = yaml.safe_load(step.text)
        if "name" in document and document.keys() & {"windows", "join"}:
            self.pipeline = parse(step.text, origin=step.place)
        else:
            base = self._base(step.words.get("base", "window"))
            for name in ("source", "sources"):
                if name in document:
                    base.pop({"source": "sources", "sources": "source"}[name], None)
            parse(yaml.safe_dump(merged(base, document)), origin=step.place)

    def _base(self, name: str) -> dict[str, Any]:
        base: dict[str, Any] = yaml.safe_load(BASES[name])
        return base

    def _console(self, step: Step) -> None:
        commands = exchanges(step)
        for command, documented in commands:
            last = command == commands[-1][0]
            code = int(step.words.get("exit", "0")) if last else 0
            self._command(shlex.split(command, comments=True), documented, code, step.words.get("parse"))

    def _command(self, words: list[str], documented: str, code: int, needs: str | None) -> None:
        program, arguments = words[0], words[1:]
        if program == "tidemark":
            self._tidemark(arguments, documented, code, parse_only=needs is not None)
        elif program == "make":
            self._make(arguments)
        elif program == "export":
            name, _, value = arguments[0].partition("=")
            os.environ[name] = value
            if name == "PYTHONPATH":
                sys.path[:0] = [str(Path(part).resolve()) for part in value.split(os.pathsep)]
        elif program == "python" and arguments[0] == "-m":
            assert needs is not None, f"{words} starts a program: write what it needs in a comment 'test: parse'"
            assert importlib.util.find_spec(arguments[1]), f"there is no module {arguments[1]}"
        elif program == "python":
            self._script(arguments)
        elif program in {"cat", "head", "ls"}:
            process = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=True)
            self._compare(documented, process.stdout)
        elif program in OUTSIDE and needs is not None:
            if "/" in program:
                assert os.access(ROOT / program, os.X_OK), f"there is no program {program}"
        else:
            raise ValueError(f"the command '{program}' is not known here; it can be run with a comment 'test: parse'")

    def _tidemark(self, arguments: list[str], documented: str, code: int, *, parse_only: bool) -> None:
        arguments = [os.path.expandvars(word) for word in arguments]
        if parse_only:
            parsed(arguments)
            return
        arguments = [self.output.real(word) for word in arguments]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, f"exit code {result.exit_code}, expected {code}: {result.output}"
        if documented:
            self._compare(documented, result.stdout if code == 0 else result.output)
        files = [word for word in arguments if word.endswith(".yaml") and not word.endswith(CASES)]
        if files and (self.folder / files[0]).exists():
            self.pipeline = load(files[0])

    def _compare(self, documented: str, real: str) -> None:
        difference = self.output.difference(documented, real)
        assert difference is None, f"the output differs at: {difference}\nThe real output is:\n{real}"

    def _make(self, arguments: list[str]) -> None:
        environ = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL"}}
        make = shutil.which("make") or "make"
        process = subprocess.run(
            [make, "--dry-run", *arguments], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
        )
        assert process.returncode == 0, process.stderr

    def _script(self, arguments: list[str]) -> None:
        """Run a script that lies in the folder, or one of the project's examples."""
        script = next(path for path in (self.folder / arguments[0], ROOT / arguments[0]) if path.is_file())
        with mock.patch.object(sys, "argv", arguments):
            runpy.run_path(str(script), run_name="__main__")

    def _python(self, step: Step) -> None:
        if "file" in step.words:
            self._file(step)
        code = compile(step.text, step.place, "exec")
        if "parse" not in step.words and "file" not in step.words:
            exec(code, self.names)  # noqa: S102  the page's own code is what is tested

    def _sql(self, step: Step) -> None:
        assert self.pipeline is not None, "no pipeline before this query"
        create_views(self.spark, Lake.of(self.pipeline.name))
        self.spark.sql(step.text.strip().rstrip(";")).collect()

    def _table(self, step: Step) -> None:
        if "lands" in step.words:
            examples.land(self.spark, rows(step.text), str(self.folder / step.words["lands"]))
            return
        assert self.pipeline is not None, "no pipeline before this table"
        expected = rows(step.text)
        if "published" in step.words:
            table = read_published(self.spark, Lake.of(self.pipeline.name), step.words["published"])
        else:
            events = self.spark.read.format("delta").load(self.pipeline.source.table)
            table = getattr(replay(events, self.pipeline), step.words["computed"])
        actual_rows = as_written(table.select(*expected[0]))
        assert actual_rows == sorted(expected, key=str), actual_rows


def exchanges(step: Step) -> list[tuple[str, str]]:
    """Return the commands of a block, each with the output that follows it; of `bash`, each line is a command."""
    text = step.text.replace("\\\n", " ")
    if step.kind == "bash":
        return [(line, "") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert text.startswith("$ "), "a console block begins with '$ '"
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(head, rest) for head, _, rest in (part.partition("\n") for part in parts)]


def parsed(arguments: list[str]) -> None:
    """Parse a `tidemark` command by its own parser, which refuses unknown commands and options, and run nothing."""
    group: Any = typer.main.get_command(app)
    name, *rest = arguments
    assert name in group.commands, f"there is no command 'tidemark {name}'"
    group.commands[name].make_context(name, rest)


def merged(base: Mapping[str, Any], fragment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the base with the values of the fragment in it; a list replaces a list, null takes a key away."""
    result = dict(base)
    for name, value in fragment.items():
        inner = result.get(name)
        result[name] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return {name: value for name, value in result.items() if value is not None}


def as_written(frame: DataFrame) -> list[dict[str, str]]:
    """Return the rows of a frame as a Markdown table shows them, in the order of their text."""
    return sorted(({name: _cell(value) for name, value in row.asDict().items()} for row in frame.collect()), key=str)


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%H:%M:%S.%f")[:-3] if value.second or value.microsecond else value.strftime("%H:%M")
    return str(value)
