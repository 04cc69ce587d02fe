"""README names every command, so that a reader of its first page knows what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from spark_jobs.cli.app import app

ROOT = Path(__file__).parents[2]


def test_the_table_of_commands_has_each_command_once() -> None:
    _, table = (ROOT / "README.md").read_text(encoding="utf-8").split("| command | what it does |\n|---|---|\n")
    rows = table.partition("\n\n")[0].splitlines()
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    group: Any = typer.main.get_command(app)
    public = [name for name, of in group.commands.items() if not of.hidden]
    assert sorted(names) == sorted(public)
