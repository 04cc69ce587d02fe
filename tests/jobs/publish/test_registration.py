"""Published tables have names in a real Hive metastore, and SQL in another process reads them."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.published_tables import PANES, RESULT_TABLES
from tests.support import history
from tests.support.hive import Metastore
from tests.support.hive_scenarios import PIPELINE, ROWS, SCHEMA

pytestmark = [pytest.mark.spark, pytest.mark.soak]

NAMES = {f"readings_{table}" for table in RESULT_TABLES}


@pytest.fixture(name="metastore")
def _metastore(tmp_path: Path) -> Metastore:
    """A metastore, and beside it the source and the file of a pipeline."""
    metastore = Metastore.of_folder(tmp_path / "hive")
    source = metastore.folder / "events"
    write_deltalake(str(source), pa.Table.from_pylist(ROWS[:600], schema=history.SCHEMA))
    (metastore.folder / "readings.yaml").write_text(PIPELINE.format(table=source, schema=SCHEMA), encoding="utf-8")
    return metastore


def _runs(names: dict[str, Any]) -> list[str]:
    return names["readings_panes"]["runs"]  # type: ignore[no-any-return]


def _stored(names: dict[str, Any]) -> dict[str, str]:
    return {name: table["stored"] for name, table in names.items()}


def test_sql_reads_the_newest_results_under_their_names(metastore: Metastore) -> None:
    file = metastore.folder / "readings.yaml"
    first = metastore.step(file)
    assert first.returncode == 0, first.stderr[-4000:]
    facts = metastore.scenario("later_runs")

    before = facts["before"]
    assert set(before) == NAMES
    assert all(re.search(r"Type: EXTERNAL", stored) for stored in _stored(before).values())
    assert f"{metastore.lake}/readings/panes" in before["readings_panes"]["stored"]
    assert PANES.row in before["readings_panes"]["stored"]
    comments = before["readings_panes"]["comments"]
    assert {column.name: column.comment for column in PANES.own_columns if not column.when}.items() <= comments.items()
    assert comments["most"] == "`max(reading)`"
    assert all(comment for table in before.values() for comment in table["comments"].values())
    assert _runs(before) == [facts["first"]]

    after = facts["after"]
    assert _runs(after) == [facts["second"]]
    assert after["readings_panes"]["rows"] > before["readings_panes"]["rows"]
    assert _stored(after) == _stored(before)
    assert facts["jobs"] == 0
    assert facts["unchanged"]

    assert _runs(facts["rolled_back"]) == [facts["first"]]
    assert facts["rolled_back"]["readings_panes"]["rows"] == before["readings_panes"]["rows"]
    assert facts["rolled_back"]["readings_panes"]["comments"] == comments
    assert _stored(facts["rolled_back"]) == _stored(before)

    codes = {name: code for name, (code, _) in facts["refused"].items()}
    assert codes == {
        "table": ErrorCode.CATALOG_NAME_TAKEN,
        "view": ErrorCode.CATALOG_NAME_TAKEN,
        "catalog": ErrorCode.CATALOG_UNUSABLE,
    }
    messages = {name: message for name, (_, message) in facts["refused"].items()}
    assert "the name spark_catalog.other.readings_panes belongs to a table at file:" in messages["table"]
    assert "the name spark_catalog.views.readings_watermarks belongs to a view" in messages["view"]
    assert "no catalog 'lakehouse', only spark_catalog" in messages["catalog"]
    assert facts["kept"] == ["n"]
    assert sorted(facts["made"]) == ["default", "other", SCHEMA.lower(), "views"]


def test_the_same_command_makes_names_that_a_killed_driver_has_left_out(metastore: Metastore) -> None:
    file = str(metastore.folder / "readings.yaml")
    killed = metastore.run("tests.faults.dying", "SIGKILL", "after enter publish", "run", file)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-4000:]

    facts = metastore.scenario("mended")

    assert not facts["began"]
    assert facts["run"] == facts["killed"]
    assert set(facts["names"]) == NAMES
    assert _runs(facts["names"]) == [facts["killed"]]

    assert "the catalog refuses the schema 'spark_catalog.re-ports' (" in facts["denied"]
    published_in = f"The results of run {facts['published']} are published in {metastore.lake}/readings"
    assert published_in in facts["denied"]
    assert "run the same command again" in facts["denied"]
    assert facts["again"] == facts["published"] != facts["killed"]
    assert set(facts["after"]) == NAMES
    assert _runs(facts["after"]) == [facts["published"]]

    assert f"found no Delta table at {metastore.lake}/readings/panes" in facts["lost"]
    assert facts["no_table"]
