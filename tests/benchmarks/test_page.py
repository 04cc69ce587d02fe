"""The page of the benchmarks: its tables are those of the files, and each limit is judged where it can be."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.page import PAGE, with_figures

MACHINE = {
    "commit": "abc",
    "date": "2025-01-01T00:00:00+00:00",
    "cores": 2,
    "cpu": "a CPU",
    "memory_gib": 24,
    "java": 17,
    "spark": "4",
    "delta": "4",
}
LINE = "| whole process: Tidemark whole / tuned by hand, 10 million | 1.50 | <= 1.75 | kept |"


def ran(seconds: float) -> dict[str, Any]:
    return {"work_seconds": seconds, "process_seconds": seconds, "peak_memory_bytes": None, "steps": {}, "counts": {}}


def bench(rows: int, whole_seconds: float) -> dict[str, Any]:
    measured = {"tuned": [ran(10)], "whole": [ran(whole_seconds), ran(whole_seconds), ran(99)]}
    return {"machine": MACHINE, "rows": rows, "repeat": 3, "shapes": {"tumbling": {"measured": measured}}}


def nexmark(differing: int) -> dict[str, Any]:
    query = {"ours": [ran(5)], "flink": [ran(10)], "answers": {"rows": 7, "differing": differing}}
    return {"machine": MACHINE, "events": 1_000_000, "repeat": 1, "queries": {"q5": query}}


def test_tables_replace_what_is_between_the_marks() -> None:
    page = PAGE.read_text(encoding="utf-8")
    once = with_figures(page, iter([bench(10_000_000, 15)]))
    assert once == with_figures(once, iter([bench(10_000_000, 15)]))
    assert once.startswith(page[: page.index("<!-- measured: begin -->")])
    assert "| Tidemark, whole: the command `replay` | 15.0 | 15.0 to 99.0 |" in once


def test_a_limit_is_judged_by_the_benchmark_with_the_promised_events() -> None:
    page = PAGE.read_text(encoding="utf-8")
    files = [bench(20_000, 900), bench(10_000_000, 15), bench(50_000_000, 90)]
    assert LINE in with_figures(page, iter(files))
    assert LINE in with_figures(page, reversed(files))


def test_rates_of_nexmark_are_those_of_all_events_by_all_cores() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "| q5 | 5.0 | 5.0 | 100 | 10.0 | 10.0 | 50 | 22.14 | 7 rows, equal |" in with_figures(
        page, iter([nexmark(0)])
    )
    assert "| 3 rows differ |" in with_figures(page, iter([nexmark(3)]))
