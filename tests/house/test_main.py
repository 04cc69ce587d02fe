from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.house.__main__ import main
from tests.house.conftest import Make
from tests.house.measures import MEASURES

FILES = {"spark_jobs/jobs/a.py": 'x = windows.kind == "session"\ny = windows.kind == "sliding"\n'}


def test_the_table_has_a_line_for_each_measure(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(make(FILES).root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [measure.name for measure in MEASURES]
    assert "kinds.window            files that decide on a window kind                       1  (2 places)" in lines


def test_the_list_names_the_places(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(make(FILES).root), "--list", "kinds.window"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "spark_jobs/jobs/a.py:1: compares: windows.kind == 'session'",
        "spark_jobs/jobs/a.py:2: compares: windows.kind == 'sliding'",
    ]


def test_figures_as_json(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(make(FILES).root), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["kinds.window"] == {"value": 1, "places": 2, "files": 1, "groups": {}}
    assert figures["enums.strings"]["groups"] == {"spark_jobs.jobs": 2}


def test_a_checkout_without_anything_has_no_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path), "--json"]) == 0
    assert {figure["value"] for figure in json.loads(capsys.readouterr().out).values()} == {0}
