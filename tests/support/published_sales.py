"""The pipeline `sales` as a run of it has published: late, too late and invalid rows, and a hostile key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from spark_jobs.inspection.publication import Publication
from spark_jobs.pipeline import load
from spark_jobs.tables.lake import Lake
from tests.support.recorded_publication import land, publish

_FILE = """
name: {name}
source:
  table: {table}
  event_time: sold_at
  arrival_time: stored_at
  source_partition: [shop]
  tie_break: [id]
watermark: {{strategy: bounded_out_of_orderness, out_of_orderness: 5 minutes, emit: {{every: 1 minute}}}}
windows:
  kind: tumbling
  size: 10 minutes
  key: [product]
  allowed_lateness: 10 minutes
  aggregates: {{sales: count(*)}}
"""
#: A name of a person, in a column that no published table has but for late rows.
CUSTOMER = "Ada Lovelace"


def at(minute: float) -> datetime:
    """Return a moment, so many minutes after ten o'clock."""
    return datetime(2024, 5, 1, 10, tzinfo=UTC) + timedelta(minutes=minute)


def rows(products: tuple[str | None, ...] = ("tea", "cake", None)) -> list[dict[str, Any]]:
    """Sales of two hours in two shops: most on time, some late, some too late, one without a time."""
    sales: list[dict[str, Any]] = []
    for number in range(120):
        late = {28: 14.0, 60: 47.0, 61: 33.0, 95: 40.0, 96: 55.5}.get(number, 0.5)
        sales.append(
            {
                "id": number,
                "sold_at": at(number - late),
                "stored_at": at(number),
                "product": products[number % len(products)],
                "shop": "north" if number % 2 else "south",
                "customer": CUSTOMER,
            }
        )
    sales[3]["sold_at"] = None
    return sales


def pipeline_file(folder: Path, table: Path, name: str = "sales") -> Path:
    """Write the pipeline file into a folder of DAGs; return its path."""
    path = folder / "pipelines" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_FILE.format(name=name, table=table), encoding="utf-8")
    return path


def published(root: Path, name: str = "sales", products: tuple[str | None, ...] = ("tea", "cake", None)) -> Publication:
    """Publish the pipeline below `root`: its lake is `root/lake`, its file is in `root/dags/pipelines`."""
    sales = rows(products)
    table = land(root / f"source_of_{name}", sales)
    pipeline = load(pipeline_file(root / "dags", table, name))
    return publish(Lake(str(root / "lake"), name), pipeline, sales)
