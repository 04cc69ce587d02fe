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
LINE = "| whole process: Tidemark whole / tuned by hand, 10 million | 1.50 | 1.50 to 1.50 | <= 1.75 | kept |"


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


def test_scheduled_runs_are_judged_without_the_run_of_the_history() -> None:
    page = PAGE.read_text(encoding="utf-8")
    hours = [(90.0, 5), (41.0, 1), (39.0, 1), (38.5, 1)]
    runs = [
        {
            "until": f"2025-01-01T{13 + n}:00:00Z",
            "seconds": s,
            "spark_starts": starts,
            "rows_read": 7000,
            "tasks": {"plan": 1.25},
        }
        for n, (s, starts) in enumerate(hours)
    ]
    text = with_figures(page, iter([{"machine": MACHINE, "rows": 10_000_000, "scheduled": runs}]))
    assert "| 2025-01-01T14:00:00Z | 7,000 | 41.0 | 1 | plan 1.2 |" in text
    assert "| Airflow: seconds of an hour's increment, queued to done | 39.00 | 38.50 to 41.00 | <= 40 | kept |" in text
    assert "| Airflow: starts of Spark in such a run | 1.00 | 1.00 to 1.00 | <= 1 | kept |" in text


def test_a_store_is_judged_by_the_folder_beside_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    seconds = {"folder": (100.0, 110.0, 90.0), "store": (160.0, 151.0, 158.0)}
    runs = {
        place: [{"process_seconds": s, "steps": {"plan": 5.0, "replay": s - 20}, "counts": {}} for s in of_place]
        for place, of_place in seconds.items()
    }
    text = with_figures(page, iter([{"machine": MACHINE, "rows": 50_000_000, "repeat": 3, "store": runs}]))
    assert "## Tables in an object store, 50,000,000 events" in text
    assert "| a store | 158.0 | 151.0 to 160.0 | plan 5.0, replay 138.0 |" in text
    assert "tables in an S3 store / in a folder | 1.58 | 1.37 to 1.76 | <= 1.5 | broken |" in text


def test_a_section_stays_until_its_figures_are_measured_again() -> None:
    sections = "## Measured growth\n\nolder\n\n## Tumbling, 10 events\n\nolder"
    older = f"<!-- measured: begin -->\n\n{sections}\n\n<!-- measured: end -->"
    text = with_figures(older, [bench(10, 15), bench(20, 15)])
    assert text.count("older") == 1
    assert text.index("## Tumbling, 10 events") < text.index("## Measured growth\n\nolder\n\n<!-- measured: end -->")
    assert text.count("## Tumbling, 20 events") == 1


def test_exact_sums_are_judged_without_the_turns_that_warm_up() -> None:
    page = PAGE.read_text(encoding="utf-8")
    seconds = [(99.0, 10.0), (10.0, 99.0), (98.0, 9.0), (9.0, 98.0), (22.0, 20.0), (24.0, 18.0), (21.0, 21.0)]
    part = {"turns": [{"exact": exact, "plain": plain} for exact, plain in seconds], "differing_rows": 0}
    results = {"machine": MACHINE, "rows": 3_000_000, "repeat": 3, "floats": {"session": part}}
    text = with_figures(page, iter([results]))
    assert "## Exact sums, session, 3,000,000 events" in text
    assert "| session | 22.0 | 20.0 | 1.10 | 21.0 | 18.0 | 1.17 |" in text
    assert "random doubles: exact sums / Spark's | 1.10 | 1.00 to 1.33 | <= 1.15 | kept |" in text


def grown(*seconds: float) -> list[dict[str, Any]]:
    return [
        {"value": 1_000_000 * 2**n, "steps": {"replay": s, "audit": 1.0}, "peak_memory_bytes": 2**30, "counts": {}}
        for n, s in enumerate(seconds)
    ]


def test_growth_has_an_exponent_and_the_hours_of_a_trillion_events() -> None:
    page = PAGE.read_text(encoding="utf-8")
    counts = {"rows_read": 5, "windows": 4, "panes": 3, "late": 2, "late_panes": 1}
    edges = {"decade": {"counts": counts, "steps": {"replay": 7.25}, "peak_memory_bytes": None}}
    results = {"machine": MACHINE, "growth": {"events": grown(1, 3, 7, 15), "keys": grown(1, 1, 1, 1)}, "edges": edges}
    text = with_figures(page, iter([results]))
    assert "| events: 1,000,000 to 8,000,000 | 2.0 | 4.0 | 8.0 | 16.0 | 1.00 | 2.00 | 1,024 to 1,024 |" in text
    assert "| keys: 1,000,000 to 8,000,000 | 2.0 | 2.0 | 2.0 | 2.0 | 0.00 | 1.00 | 1,024 to 1,024 |" in text
    # A million more events take 2 s of 2 cores.
    assert "| 1,000 | 1.11 |" in text
    assert "| decade | 5 | 4 | 3 | 2 | 7.2 | - |" in text
