"""The table of all figures: each part is measured once for the same content, and kept only if it ended."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import demo, page, table
from tests.benchmarks.table import Part

FIRST_PARTS = {"demo": Part("demo"), "again": Part("demo", ("--repeat", "2"))}


@pytest.fixture(name="measured_options")
def _measured_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The options of each demo that was measured. The second clone takes too long."""
    calls: list[list[str]] = []

    def measure(arguments: Sequence[str]) -> int:
        calls.append([*arguments])
        minutes = [3.0] if len(calls) == 1 else [3.0, 4.5]
        results = {"demo": [{"first": m * 60, "again": 30.0} for m in minutes]}
        Path(arguments[-1]).write_text(json.dumps(results), encoding="utf-8")
        return int(len(calls) > 1)

    monkeypatch.setattr(demo, "main", measure)
    monkeypatch.setattr(table, "PARTS", FIRST_PARTS)
    monkeypatch.setattr(table, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    page.PAGE.write_text("<!-- measured: begin --><!-- measured: end -->", encoding="utf-8")
    return calls


def test_each_part_is_measured_once_for_the_same_content(
    measured_options: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert table.main(["--folder", str(tmp_path), "--parts", "demo"]) == 2
    assert "not measured yet: again" in capsys.readouterr().out
    assert table.main(["--folder", str(tmp_path), "--parts", "demo,again"]) == 1
    assert [options[:-4] for options in measured_options] == [[], ["--repeat", "2"]]
    assert "3.00 to 3.00" in capsys.readouterr().out
    assert table.main(["--folder", str(tmp_path), "--parts", "demo,again"]) == 0
    assert len(measured_options) == 2


def test_no_part_begins_when_the_minutes_are_over(measured_options: list[list[str]], tmp_path: Path) -> None:
    assert table.main(["--folder", str(tmp_path), "--parts", "demo,again", "--minutes", "0"]) == 2
    assert measured_options == []


@pytest.mark.soak
def test_a_new_clone_goes_on_from_the_kept_figures(measured_options: list[list[str]], tmp_path: Path) -> None:
    table.main(["--folder", str(tmp_path / "first"), "--parts", "demo", "--page"])
    assert "3.00" in page.PAGE.read_text(encoding="utf-8")
    assert table.main(["--folder", str(tmp_path / "second"), "--parts", "demo"]) == 2
    assert len(measured_options) == 1


def test_kept_figures_of_another_content_are_measured_again(measured_options: list[list[str]], tmp_path: Path) -> None:
    table.main(["--folder", str(tmp_path / "first"), "--parts", "demo", "--page"])
    file = table.KEPT / "demo.json"
    part = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**part, "content": "another"}), encoding="utf-8")
    table.main(["--folder", str(tmp_path / "second"), "--parts", "demo"])
    assert len(measured_options) == 2


def test_a_change_of_a_benchmark_concerns_only_its_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    modules = tmp_path / "tests" / "benchmarks"
    modules.mkdir(parents=True)
    for name in ("bench", "demo", "store"):
        (modules / f"{name}.py").write_text("WAYS = 1")
    subprocess.run([str(shutil.which("git")), "init", "--quiet", str(tmp_path)], check=True)
    monkeypatch.setattr(table, "_PROJECT", tmp_path)
    monkeypatch.setattr(table, "PARTS", {name: Part(name) for name in ("bench", "demo", "store")})

    def parts_of_a_change(name: str) -> set[str]:
        before = table._contents()
        (modules / f"{name}.py").write_text("WAYS = 2")
        return {part for part, content in table._contents().items() if content != before[part]}

    assert parts_of_a_change("demo") == {"demo"}
    assert parts_of_a_change("bench") == {"bench", "demo", "store"}


def test_a_part_with_other_options_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, measured_options: list[list[str]], tmp_path: Path
) -> None:
    for expected, options in ((1, ()), (1, ()), (2, ("--repeat", "2"))):
        monkeypatch.setattr(table, "PARTS", {"demo": Part("demo", options)})
        table.main(["--folder", str(tmp_path), "--parts", "demo"])
        assert len(measured_options) == expected


def test_older_figures_of_a_part_stay_on_the_page(measured_options: list[list[str]], tmp_path: Path) -> None:
    table.KEPT.mkdir()
    older = {"content": "another", "figures": {"demo": [{"first": 174.0, "again": 30.0}]}}
    (table.KEPT / "demo.json").write_text(json.dumps(older), encoding="utf-8")
    assert table.main(["--folder", str(tmp_path), "--parts", "again", "--page"]) == 2
    assert [options[:-4] for options in measured_options] == [["--repeat", "2"]]
    assert "2.90 to 2.90" in page.PAGE.read_text(encoding="utf-8")


@pytest.mark.soak
def test_a_part_without_figures_is_measured_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    codes = iter([1, 0])
    monkeypatch.setattr(table, "PARTS", {"demo": Part("demo")})
    monkeypatch.setattr(table, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(demo, "main", lambda _: next(codes))
    for expected in (1, 2):
        assert table.main(["--folder", str(tmp_path), "--parts", "demo"]) == expected


def test_every_part_names_a_benchmark_that_takes_its_options() -> None:
    for part in table.PARTS.values():
        module: Any = importlib.import_module(f"tests.benchmarks.{part.benchmark}")
        options = module._parser().parse_args([*part.options, "--folder", "folder", "--json", "file"])
        assert (options.folder, options.json) == (Path("folder"), Path("file"))
