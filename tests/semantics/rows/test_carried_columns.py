"""A table of source rows has its own columns, and all columns of the source under different names."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from spark_jobs.pipeline.published_tables import LATE_EVENTS
from spark_jobs.semantics.rows.carried_columns import ORIGIN, carried_name, carried_names, origins
from tests.support import column_names


@dataclass(frozen=True)
class Field:
    name: str
    metadata: dict[str, Any] | None = None


def test_only_columns_with_a_name_of_the_table_are_renamed() -> None:
    assert carried_names(["id", "watermark", "Reason"], ["watermark", "reason"]) == {
        "id": "id",
        "watermark": "source_watermark",
        "Reason": "source_Reason",
    }


def test_a_taken_name_gets_the_prefix_again() -> None:
    names = carried_names(["Source_Watermark", "watermark", "source_source_watermark"], ["watermark"])
    assert names["watermark"] == "source_source_source_watermark"
    assert names["Source_Watermark"] == "Source_Watermark"


def test_names_differ_whatever_the_source_has() -> None:
    own = LATE_EVENTS.names
    pool = [*own, *(f"source_{n}" for n in own), *(f"SOURCE_source_{n}" for n in own), *column_names.HARD]
    for seed in range(200):
        source = random.Random(seed).sample(pool, 12)
        source = list({name.lower(): name for name in source}.values())
        names = carried_names(source, own)
        assert list(names) == source
        assert len({name.lower() for name in (*names.values(), *own)}) == len(source) + len(own)
        assert names == {name: carried_names(sorted(source), own)[name] for name in source}


def test_a_stored_column_names_its_origin() -> None:
    fields = [Field("id"), Field("source_Watermark", {ORIGIN: "Watermark"}), Field("watermark", {}), Field("source_id")]
    assert origins(fields) == {"source_Watermark": "Watermark"}
    assert carried_name(fields, "WATERMARK") == "source_Watermark"
    assert carried_name(fields, "id") == "id"
