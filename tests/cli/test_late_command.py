"""The command late computes what would have saved rows by the settings of the run, and lists changed ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.pipeline import load
from spark_jobs.tables.lake import Lake
from tests.cli.test_screens import FILE
from tests.support import history
from tests.support.recorded_publication import land, publish

ROWS = history.events(400)
BOUND = "out_of_orderness: 10 seconds"


class Published:
    """A lake whose run had the settings of the file as it was first."""

    def __init__(self, folder: Path, text: str = FILE) -> None:
        self.folder, self.file = folder, folder / "readings.yaml"
        self.text = text.format(table=land(folder / "rows", ROWS))
        self.file.write_text(self.text, encoding="utf-8")
        publish(Lake(str(folder / "lake"), "readings"), load(self.file), ROWS)

    def late(self, *options: str) -> str:
        environment = {"TIDEMARK_LAKE": str(self.folder / "lake"), "COLUMNS": "200"}
        ended = CliRunner().invoke(app, ["late", str(self.file), *options], env=environment)
        assert ended.exit_code == 0, ended.stderr
        return ended.stdout


@pytest.fixture(name="published")
def _published(tmp_path: Path) -> Published:
    return Published(tmp_path)


def remedies(text: str) -> list[str]:
    return [line for line in text.splitlines() if "counted with" in line or line.startswith("or with")]


def test_the_bound_is_that_of_the_run(published: Published) -> None:
    before = published.late()
    assert "other settings" not in before
    assert len(remedies(before)) == 2
    published.file.write_text(published.text.replace(BOUND, "out_of_orderness: 7 hours"), encoding="utf-8")
    after = published.late()
    assert remedies(after) == remedies(before)
    assert "the file has other settings than the published results:" in after
    assert "watermark.out_of_orderness: 10 seconds -> 7 hours" in after
    content = json.loads(published.late("--json"))
    assert content["changed_settings"] == ["watermark.out_of_orderness: 10 seconds -> 7 hours"]


def test_a_strategy_without_a_bound_is_to_be_changed(tmp_path: Path) -> None:
    published = Published(tmp_path, FILE.replace(BOUND, "strategy: monotonous"))
    *_, last = remedies(published.late())
    assert last.startswith("or with watermark.strategy bounded_out_of_orderness and watermark.out_of_orderness ")


def test_groups_by_a_time_have_all_digits_of_it(published: Published) -> None:
    assert re.search(r"^[-\d]+ \d\d:\d\d:\d\d\.\d+ +1 ", published.late("--by", "stored_at"), re.MULTILINE)
