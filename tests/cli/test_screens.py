"""The pages of help at 80 and at 160 columns, as files in `screens/`.

After a change that is meant, write them again and look at the difference:

    TIDEMARK_WRITE_SCREENS=1 .venv/bin/python -m pytest tests/cli/test_screens.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import COMMANDS, app

WIDTHS = (80, 160)
SCREENS = Path(__file__).parent / "screens"


@pytest.mark.parametrize("name", ["program", *(c.__name__ for c in COMMANDS)])
def test_a_page_of_help_is_its_screen(name: str) -> None:
    arguments = ["--help"] if name == "program" else [name, "--help"]
    lines: list[str] = []
    for width in WIDTHS:
        environment = {"COLUMNS": str(width), "XDG_STATE_HOME": ""}
        page = CliRunner().invoke(app, arguments, env=environment, prog_name="tidemark")
        lines += [f"-- {width} columns", *(line.rstrip() for line in page.stdout.splitlines())]
    text, file = "\n".join(lines) + "\n", SCREENS / f"help_{name}.txt"
    if os.environ.get("TIDEMARK_WRITE_SCREENS"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_each_screen_belongs_to_a_page() -> None:
    names = {"help_program", *(f"help_{c.__name__}" for c in COMMANDS)}
    assert {file.stem for file in SCREENS.glob("*.txt")} == names
