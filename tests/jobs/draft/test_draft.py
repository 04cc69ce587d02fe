"""A draft fits the table that it was drafted from, whatever form its times have, and passes the check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.draft.draft import Drafted, draft, survey, write
from spark_jobs.jobs.draft.proposal import Answers
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.check import checked
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import load
from spark_jobs.pipeline.model import Order, TimeField, TimeUnit
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.sampling import sampled
from tests.support import history, source_tables
from tests.support.engine import frame_of

pytestmark = pytest.mark.spark

DAY_MS = 86_400_000


@pytest.fixture(name="drafts", scope="module")
def _drafts(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drafted]:
    """Drafts by the name of the table, each made when a test first needs it."""
    folder = tmp_path_factory.mktemp("tables")

    class Drafts(dict[str, Drafted]):
        def __missing__(self, name: str) -> Drafted:
            table = source_tables.TABLES[name](session, folder / name)
            self[name] = draft(survey(session, table, Answers()), Answers())
            return self[name]

    return Drafts()


@pytest.mark.parametrize(
    ("name", "event", "arrival"),
    [
        ("sensors", TimeField("`event time`", format="yyyy-MM-dd'T'HH:mm:ssXXX"), TimeField("arrived_at")),
        sampled(
            "clicks",
            TimeField("payload.ts", TimeUnit.SECONDS),
            TimeField("meta.received_ms", TimeUnit.MILLISECONDS),
            quick=False,
        ),
        sampled("orders", TimeField("ordered_at"), TimeField("loaded_at"), quick=False),
        (
            "meters",
            TimeField("measured", format="dd/MM/yyyy HH:mm"),
            TimeField("try_cast(received_at AS bigint)", TimeUnit.MILLISECONDS),
        ),
        sampled("heartbeats", TimeField("ts", TimeUnit.SECONDS), None, quick=False),
        sampled("shipments", TimeField("scanInfo.eventTime"), TimeField("audit.ingestedAt"), quick=False),
    ],
)
def test_the_times_of_each_table_and_the_check(
    drafts: dict[str, Drafted],
    session: SparkSession,
    tmp_path: Path,
    name: str,
    event: TimeField,
    arrival: TimeField | None,
) -> None:
    drafted = drafts[name]
    assert (drafted.pipeline.source.event_time, drafted.pipeline.source.arrival_time) == (event, arrival)
    write(drafted, tmp_path / "drafted.yaml", force=False)
    assert load(tmp_path / "drafted.yaml") == drafted.pipeline
    assert checked(session, drafted.pipeline).keys() == {""}


@pytest.mark.parametrize(
    ("name", "partition", "key", "tie_break"),
    [
        ("sensors", ("site",), ("Gerät_Nr",), ()),
        ("clicks", ("region",), ("page",), ("click_id",)),
        sampled("orders", (), ("currency",), ("order_id",), quick=False),
        sampled("meters", (), ("meter",), (), quick=False),
        ("heartbeats", ("partition",), ("status",), ("offset",)),
        ("shipments", (), ("code",), ("shipmentId",)),
    ],
)
def test_the_columns_of_each_table(
    drafts: dict[str, Drafted],
    name: str,
    partition: tuple[str, ...],
    key: tuple[str, ...],
    tie_break: tuple[str, ...],
) -> None:
    pipeline = drafts[name].pipeline
    columns = (pipeline.source.source_partition.columns, pipeline.windows.key, pipeline.source.tie_break)
    assert columns == (partition, key, tie_break)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sensors", ["source.source_partition", "windows.size"]),
        ("clicks", ["source.source_partition", "windows.size"]),
        ("orders", ["source.event_time"]),
        ("meters", ["source.event_time"]),
        ("heartbeats", ["source.arrival_time", "windows.key"]),
        ("shipments", []),
    ],
)
def test_what_the_user_has_to_choose(drafts: dict[str, Drafted], name: str, settings: list[str]) -> None:
    drafted = drafts[name]
    assert [choice.setting for choice in drafted.choices] == settings
    assert drafted.text.count("# CHOOSE: ") == len(settings)


def test_fields_of_structs_and_odd_names_are_named_in_source_columns(drafts: dict[str, Drafted]) -> None:
    named = {name: drafts[name].pipeline.source.columns for name in ("sensors", "clicks", "shipments")}
    assert {name: [(c.name, c.expression) for c in columns] for name, columns in named.items()} == {
        "sensors": [("Gerät_Nr", "`Gerät Nr`")],
        "clicks": [("region", "meta.region"), ("page", "payload.page")],
        "shipments": [("code", "scanInfo.depot.code")],
    }


def test_invalid_rows_are_counted_with_samples(drafts: dict[str, Drafted]) -> None:
    reasons = {invalid.reason: invalid for invalid in drafts["orders"].invalid}
    assert reasons.keys() == {"event_time_missing", "event_time_in_future"}
    assert reasons["event_time_in_future"].samples[0].startswith("2199-")
    of_text = drafts["sensors"].invalid
    assert "N/A" in {sample for invalid in of_text for sample in invalid.samples}
    assert f"{sum(invalid.rows for invalid in of_text)} of 3,000 rows are invalid" in drafts["sensors"].text


def test_columns_without_a_role_are_listed_with_the_true_reason(drafts: dict[str, Drafted]) -> None:
    assert "week: looks like weeks of a year" in drafts["meters"].text
    assert "scans.scanTime: is in an array" in drafts["shipments"].text
    assert "tags: is in an array" in drafts["clicks"].text


def test_the_runner_up_has_its_numbers(drafts: dict[str, Drafted]) -> None:
    text = " ".join(drafts["orders"].text.replace("\n  # ", " ").split())
    assert "Runner-up: ordered_text (" in text
    assert "not readable ('31.02.2024 10:00:00', 'unknown')" in text
    assert "never goes back from one commit" in drafts["clicks"].text


def test_the_size_of_windows_fits_the_rate_of_rows(drafts: dict[str, Drafted]) -> None:
    sizes = {name: drafts[name].pipeline.windows.size_ms for name in ("orders", "heartbeats")}
    assert sizes == {"orders": DAY_MS, "heartbeats": 3_600_000}


def test_without_an_arrival_time_rows_are_in_event_time_order(drafts: dict[str, Drafted]) -> None:
    assert drafts["heartbeats"].pipeline.replay.order is Order.EVENT_TIME


def test_the_bound_covers_the_delays(drafts: dict[str, Drafted]) -> None:
    """Rows of the table come up to 9,000 s after their event."""
    pipeline = drafts["clicks"].pipeline
    total = pipeline.watermark.out_of_orderness_ms + pipeline.windows.allowed_lateness_ms
    assert 3_600_000 < total <= 4 * 3_600_000
    assert "For 99.99% of the rows" in drafts["clicks"].text.replace("\n  # ", " ")


@pytest.mark.soak
def test_the_drafted_file_replays(
    drafts: dict[str, Drafted], session: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    write(drafts["orders"], tmp_path / "drafted.yaml", force=False)
    outcomes = Runner(session, load(tmp_path / "drafted.yaml"), lake).run(Interval())
    assert [outcome.state for outcome in outcomes] == ["done"] * 5


def test_existing_file_stays_without_force(drafts: dict[str, Drafted], tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine\n")
    with pytest.raises(InputError, match="--force"):
        write(drafts["clicks"], file, force=False)
    assert file.read_text() == "mine\n"
    write(drafts["clicks"], file, force=True)
    assert file.read_text() == drafts["clicks"].text
    assert [p.name for p in tmp_path.iterdir()] == ["mine.yaml"]


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [([{"a": "x"}], pa.string(), "no column was recognized as a time.*a string"), ([], pa.string(), "no rows")],
    ids=["no time", "no row"],
)
def test_a_table_of_which_no_pipeline_can_be_made_is_refused(
    session: SparkSession, tmp_path: Path, rows: list[dict[str, Any]], kind: pa.DataType, message: str
) -> None:
    path = str(tmp_path / "table")
    frame_of(session, rows, pa.schema([("a", kind)])).coalesce(1).write.format("delta").save(path)
    with pytest.raises(InputError, match=message):
        survey(session, path, Answers())


def test_a_field_of_an_array_is_refused_with_the_reason(session: SparkSession, tmp_path: Path) -> None:
    scans = pa.list_(pa.struct([("scanTime", pa.string())]))
    path = str(tmp_path / "table")
    frame_of(session, [{"scans": []}], pa.schema([("scans", scans)])).write.format("delta").save(path)
    with pytest.raises(InputError, match=r"--key 'scans.scanTime': is in an array"):
        survey(session, path, Answers(key=("scans.scanTime",)))


def test_a_time_that_the_user_names_needs_no_name_of_a_time(session: SparkSession, tmp_path: Path) -> None:
    """Names that YAML and SQL read otherwise; the start of the history in seconds."""
    start = int(history.START.timestamp())
    rows = [{"on": start + 60 * i, "odd: #1": start + 60 * i} for i in range(50)]
    path = str(tmp_path / "odd: #1")
    frame = frame_of(session, rows, pa.schema([("on", pa.int64()), ("odd: #1", pa.int64())])).coalesce(1)
    # Delta stores blanks in names only where it maps them.
    frame.write.format("delta").option("delta.columnMapping.mode", "name").save(path)
    answers = Answers(event_time="odd: #1", arrival_time="on")
    source = draft(survey(session, path, answers), answers).pipeline.source
    assert source.event_time == TimeField("`odd: #1`", TimeUnit.SECONDS)
    assert source.arrival_time == TimeField("on", TimeUnit.SECONDS)
    assert source.table == path
