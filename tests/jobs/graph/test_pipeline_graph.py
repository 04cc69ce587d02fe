"""The graph of pipelines: who reads whose published tables, in which order, and that no circle is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.graph.pipeline_graph import Edge, PipelineGraph
from spark_jobs.pipeline import Pipeline, from_mapping

WINDOWS = {"size": "1 hour", "key": [], "aggregates": {"n": "count(*)"}}


def reader(name: str, *tables: str, **more: Any) -> Pipeline:
    source: dict[str, Any] = {"event_time": "window_start"}
    bound = {"out_of_orderness": "0 seconds"}
    sources: dict[str, Any] = {"source": {"table": tables[0], **source}, "watermark": bound}
    if len(tables) > 1:
        named = enumerate(tables)
        sources = {"sources": [{"name": f"s{n}", "table": table, "watermark": bound, **source} for n, table in named]}
    return from_mapping({"name": name, **sources, "replay": {"order": "event_time"}, "windows": WINDOWS, **more})


def test_pipelines_come_after_all_that_they_read() -> None:
    graph = PipelineGraph(
        [
            reader("last", "/lake/b/window_results", "/lake/c/window_results"),
            reader("c", "file:///lake/a/panes"),
            reader("b", "/lake/a/window_results/"),
            reader("a", "/data/rows"),
            reader("apart", "/data/others"),
        ],
        "/lake",
    )
    order = graph.downstream("a")
    assert sorted(order[:2]) == ["b", "c"]
    assert order[2:] == ("last",)
    assert graph.downstream("b") == ("last",)
    assert graph.downstream("last") == graph.downstream("apart") == ()
    assert graph.edges["last"] == (Edge("b", "window_results", "s0"), Edge("c", "window_results", "s1"))
    assert graph.edges["c"] == (Edge("a", "panes", ""),)


def test_a_table_is_read_by_its_name_in_a_catalog() -> None:
    graph = PipelineGraph(
        [
            reader("a", "/data/rows", publish_to="main.gold"),
            reader("b", "main.gold.a_window_results"),
            reader("c", "`Main`.gold.`a_late_events`"),
        ],
        "/lake",
    )
    assert sorted(graph.downstream("a")) == ["b", "c"]


def test_a_table_that_no_pipeline_publishes_is_no_edge() -> None:
    graph = PipelineGraph(
        [reader("a", "/data/rows"), reader("b", "/lake/a/runs"), reader("c", "/lake/x/panes")], "/lake"
    )
    assert graph.downstream("a") == ()


def test_a_lake_in_an_object_store() -> None:
    graph = PipelineGraph(
        [reader("a", "s3a://company/rows"), reader("b", "s3a://company/lake/a/window_results")], "s3a://company/lake/"
    )
    assert graph.downstream("a") == ("b",)


def test_a_circle_is_refused() -> None:
    with pytest.raises(InputError, match=r"in a circle: \w -> \w -> \w\. Let one of them read another table"):
        PipelineGraph([reader("a", "/lake/b/panes"), reader("b", "/lake/a/panes")], "/lake")
