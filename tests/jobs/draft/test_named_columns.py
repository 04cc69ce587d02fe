"""Named columns: the name of a leaf where a pipeline file takes no expression."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.jobs.draft.named_columns import NamedColumn, named_column


@pytest.mark.parametrize(
    ("path", "columns", "named"),
    [
        (("page",), (), NamedColumn("page")),
        (("payload", "page"), ("payload",), NamedColumn("page", "payload.page")),
        (("payload", "page"), ("Page",), NamedColumn("payload_page", "payload.page")),
        (("payload", "page"), ("page", "payload_page"), NamedColumn("page_2", "payload.page")),
        (("Gerät Nr",), (), NamedColumn("Gerät_Nr", "`Gerät Nr`")),
        (("window_start",), (), NamedColumn("window_start_2", "window_start")),
    ],
)
def test_a_key_has_a_name_that_results_can_have(
    path: tuple[str, ...], columns: tuple[str, ...], named: NamedColumn
) -> None:
    assert named_column(Leaf(path, T.StringType()), columns, is_key=True) == named


def test_a_source_partition_keeps_an_odd_name() -> None:
    assert named_column(Leaf(("my site",), T.StringType()), (), is_key=False) == NamedColumn("my site")
