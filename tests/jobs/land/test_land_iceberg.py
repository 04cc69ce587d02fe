"""Landing Iceberg tables on Spark: types, arrival times, later snapshots, and columns of other names."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.land.land import Landed, Layout, land
from spark_jobs.jobs.land.source import read_source
from tests.support.engine import rows_of
from tests.support.iceberg import append, folder_of, new_table

pytestmark = pytest.mark.spark

AT = datetime(2024, 1, 1, 10, 0, 0, 1, tzinfo=UTC)
SESSION = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
ORDERS = pa.schema([("id", pa.int64()), ("note", pa.string())])


def landed(session: SparkSession, orders: Table, layout: Layout = Layout()) -> Landed:  # noqa: B008
    folder = folder_of(orders)
    return land(session, read_source(folder), str(folder.parent / "lake/orders"), layout)


def table(session: SparkSession, orders: Table) -> list[dict[str, Any]]:
    path = folder_of(orders).parent / "lake/orders"
    return sorted(rows_of(session.read.format("delta").load(str(path))), key=lambda row: row["id"])


def times(orders: Table) -> list[datetime]:
    return [datetime.fromtimestamp(each.timestamp_ms / 1000, UTC) for each in orders.snapshots()]


def test_snapshots_are_landed_once(session: SparkSession, tmp_path: Path) -> None:
    orders = new_table(tmp_path, ORDERS)
    append(orders, id=[1, 2], note=["a", None])
    append(orders, id=[3], note=["c"])
    assert landed(session, orders) == Landed(str(tmp_path / "lake/orders"), 0, 2, 3, is_new=True)
    assert landed(session, orders).files == 0
    append(orders, id=[4], note=["d"])
    third = landed(session, orders)
    assert (third.version, third.files, third.rows, third.is_new) == (1, 1, 1, False)
    rows = table(session, orders)
    assert [(row["id"], row["note"]) for row in rows] == [(1, "a"), (2, None), (3, "c"), (4, "d")]
    first, second, last = times(orders)
    assert [row["arrived_at"] for row in rows] == [first, first, second, last]
    assert all((folder_of(orders) / row["arrived_in"]).is_file() for row in rows)


def test_a_delete_after_a_landing_is_refused(session: SparkSession, tmp_path: Path) -> None:
    orders = new_table(tmp_path, ORDERS)
    append(orders, id=[1, 2], note=["a", "b"])
    landed(session, orders)
    orders.delete("id = 1")
    append(orders, id=[3], note=["c"])
    with pytest.raises(InputError, match=f"snapshot {orders.snapshots()[1].snapshot_id} .* of operation overwrite"):
        landed(session, orders)
    assert len(table(session, orders)) == 2


def test_columns_have_the_names_and_types_of_the_schema(session: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int32(), nullable=False),
            pa.field("ordered at", pa.timestamp("us", "UTC")),
            pa.field("local", pa.timestamp("us")),
            pa.field("day", pa.date32()),
            pa.field("price", pa.decimal128(9, 2)),
            pa.field("parts", pa.list_(pa.struct([("name", pa.string())]))),
            pa.field("marks", pa.map_(pa.string(), pa.float64())),
            pa.field("code", pa.binary(2)),
            pa.field("session", pa.uuid()),
        ]
    )
    orders = new_table(tmp_path, schema)
    values: dict[str, list[Any]] = {
        "ordered at": [AT],
        "local": [AT.replace(tzinfo=None)],
        "day": [AT.date()],
        "price": [Decimal("1.25")],
        "parts": [[{"name": "x"}]],
        "marks": [{"y": 1.5}],
        "code": [b"ab"],
        "session": [SESSION.bytes],
    }
    append(orders, id=[1], **values)
    with orders.update_schema() as change:
        change.rename_column("price", "cost")
    append(orders, id=[2], **{{"price": "cost"}.get(name, name): value for name, value in values.items()})
    assert landed(session, orders).rows == 2
    rows = table(session, orders)
    for row in rows:
        assert (row["ordered at"], row["local"].replace(tzinfo=None)) == (AT, AT.replace(tzinfo=None))
        assert (row["day"], row["cost"], row["code"]) == (date(2024, 1, 1), Decimal("1.25"), b"ab")
        assert row["session"] == str(SESSION)
        assert (row["parts"], row["marks"]) == ([{"name": "x"}], {"y": 1.5})
    types = {f.name: f.dataType for f in session.read.format("delta").load(str(tmp_path / "lake/orders")).schema}
    assert (types["id"], types["local"], types["ordered at"]) == (
        T.IntegerType(),
        T.TimestampNTZType(),
        T.TimestampType(),
    )


def test_a_later_column_is_added_and_a_renamed_one_is_refused(session: SparkSession, tmp_path: Path) -> None:
    orders = new_table(tmp_path, ORDERS)
    append(orders, id=[1], note=["a"])
    landed(session, orders)
    with orders.update_schema() as change:
        change.add_column("amount", orders.schema().find_type("id"))
    append(orders, id=[2], note=["b"], amount=[5])
    assert landed(session, orders).rows == 1
    assert [row["amount"] for row in table(session, orders)] == [None, 5]
    with orders.update_schema() as change:
        change.rename_column("note", "remark")
    append(orders, id=[3], remark=["c"], amount=[6])
    with pytest.raises(InputError, match="has the column 'note', which is 'remark' today"):
        landed(session, orders)


def test_what_does_not_fit_is_refused(session: SparkSession, tmp_path: Path) -> None:
    orders = new_table(tmp_path, pa.schema([("id", pa.int64()), ("arrived_at", pa.string()), ("at", pa.time64("us"))]))
    append(orders, id=[1], arrived_at=["x"], at=[AT.time()])
    with pytest.raises(InputError, match="--arrival-column: the files have a column 'arrived_at'"):
        landed(session, orders)
    with pytest.raises(InputError, match=r"--option, --keep-broken: .* is an Iceberg table"):
        landed(session, orders, Layout("known_at", keep_broken=True))
    with pytest.raises(InputError, match=r"the column 'at' is of type time64\[us\], which a Delta table cannot have"):
        landed(session, orders, Layout("known_at"))
