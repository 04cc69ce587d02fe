"""The command explain refuses a question that it cannot answer, before or after it starts Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from tests.cli.test_screens import FILE
from tests.docs import examples
from tests.support import history

PIPELINE = "readings.yaml"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / PIPELINE).write_text(FILE.format(table=tmp_path / "events"), encoding="utf-8")
    return tmp_path


def explain(folder: Path, *options: str) -> tuple[int, str]:
    environment = {"TIDEMARK_LAKE": str(folder / "lake")}
    ended = CliRunner().invoke(app, ["explain", str(folder / PIPELINE), *options], env=environment)
    return ended.exit_code, ended.stderr if ended.exit_code else ended.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "found neither --row nor --window"),
        (("--row", "id = 1"), "is not a Delta table"),
        (("--window", "yesterday"), "found the time 'yesterday', expected ISO 8601"),
        (("--window", "2024-03-30", "--key", "device"), "--key: found 'device', expected NAME=VALUE"),
    ],
)
def test_a_question_is_refused_without_spark(folder: Path, options: tuple[str, ...], message: str) -> None:
    code, text = explain(folder, *options)
    assert code == 2
    assert message in text


@pytest.mark.spark
@pytest.mark.soak
def test_a_source_without_a_run_is_explained_as_a_whole(session: SparkSession, folder: Path) -> None:
    history.land(session, history.events(60), folder / "events")
    code, text = explain(folder, "--row", "id = 13", "--row", "id = 99999", "--json")
    assert code == 0
    content = json.loads(text)
    (row,) = content["rows"]
    assert (content["run_id"], row["row"]["id"], row["fate"]) == (None, 13, "too_late")
    lives = []
    for start in ("2024-03-30T22:00", "2024-03-30T22:07:30"):
        code, text = explain(folder, "--window", start, "--key", "device=b", "--json")
        assert code == 0
        lives.append(json.loads(text)["window"])
    assert lives[0] == lives[1], "an instant inside names its window"
    assert lives[0]["steps"]
    for options, message in (
        (("--row", "id + 1"), "--row: 'id + 1' is of type bigint, not a condition"),
        (("--row", "ide = 1"), "--row: "),
        (
            ("--window", "2024-03-30T22:00"),
            "--key: found no column, expected the columns of windows.key: --key device=",
        ),
        (("--window", "2024-03-30T22:00", "--key", "site=north"), "--key: found site, expected the columns of"),
    ):
        code, text = explain(folder, *options)
        assert code == 2
        assert message in text


JOIN = """\
name: paid_orders
sources:
  - name: orders
    table: {orders}
    event_time: ordered_at
    arrival_time: stored_at
    watermark: {{out_of_orderness: 1 minute}}
  - name: payments
    table: {payments}
    event_time: paid_at
    arrival_time: stored_at
    watermark: {{out_of_orderness: 1 minute}}
watermark: {{emit: {{every: 1 minute}}}}
join: {{key: [order_id], between: [0s, 1 hour]}}
"""


@pytest.mark.spark
def test_a_row_of_a_join_is_explained_by_its_partners(session: SparkSession, folder: Path) -> None:
    tables = {name: str(folder / "data" / name) for name in ("orders", "payments")}
    for name in tables:
        examples.make(session, name, folder)
    (folder / PIPELINE).write_text(JOIN.format(**tables), encoding="utf-8")
    code, text = explain(folder, "--row", "paid_at is not null and order_id = 3", "--json")
    assert code == 0
    (row,) = json.loads(text)["rows"]
    (partner,) = row["partners"]
    assert (row["input"], row["fate"], partner["meeting"]) == ("payments", "on_time", "joined")
    code, text = explain(folder, "--row", "order_id = 3")
    assert code == 0
    assert text.count("joined 1 of 1 row of the other input within reach") == 2
    code, text = explain(folder, "--window", "2024-05-01T00:30", "--key", "order_id=3")
    assert code == 2
    assert "--window: the pipeline joins by interval and has no windows" in text
