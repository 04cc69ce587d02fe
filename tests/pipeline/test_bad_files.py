"""What is wrong in a pipeline file is met with its line, its key, what was found and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.pipeline import PipelineError, Problem, from_mapping, load, parse


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("name: departures_by_carrier\n", "1:1: name: missing, expected a name of lower-case letters, digits"),
        ("  table: ${TIDEMARK_LAKE}/flights\n", "2:1: source.table: missing, expected a Delta path"),
        ("  event_time: departed_at\n", "2:1: source.event_time: missing, expected a column or SQL expression"),
        ("  size: 1 hour\n", "18:1: windows.size: missing, expected a duration longer than 0"),
        ("  key: [carrier]\n", "18:1: windows.key: missing, expected a list of columns"),
        (
            "  aggregates:\n    flights: count(*)\n    mean_delay: avg(dep_delay)\n",
            "18:1: windows.aggregates: missing, expected a mapping of result columns to SQL aggregates",
        ),
    ],
)
def test_a_required_key_that_is_missing_is_named(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], line: str, message: str
) -> None:
    (problem,) = problems_of(edit((line, "")))
    assert str(problem).startswith(f"flights.yaml:{message}")


def test_all_problems_of_a_file_come_together_in_its_order(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]]
) -> None:
    text = edit(
        ("size: 1 hour", "size: 6"),
        ("order: arrival", "order: sideways"),
        ("  late_data: side_output", "  late_date: side_output"),
        ("    flights: count(*)", "    run_id: 3"),
        ("name: departures_by_carrier", "name: Departures"),
        ("strategy: bounded_out_of_orderness", "strategy: monotonous"),
        ('schedule: "@daily"', "schedule: never\nwindows: 3"),
    )
    assert [(problem.place.line, problem.key) for problem in problems_of(text)] == [
        (1, "name"),
        (11, "replay.order"),
        (16, "watermark.out_of_orderness"),
        (20, "windows.size"),
        (25, "windows.late_date"),
        (27, "windows.aggregates.run_id"),
        (27, "windows.aggregates.run_id"),
        (37, "schedule"),
        (38, "windows"),
    ]


def test_several_problems_are_one_text_with_a_line_each() -> None:
    with pytest.raises(PipelineError) as caught:
        parse(
            "name: x\nsource: {table: t, event_time: ts}\nwindows: 5\nwatermark: {strategy: monotonous}\n", origin="a"
        )
    assert str(caught.value) == (
        "a: 2 problems\n"
        "  a:2:1: source.arrival_time: missing; replay.order arrival needs the time at which a row became known; "
        "without it, order by commit or event_time\n"
        "  a:3:10: windows: found the number 5, expected a mapping with the keys kind, size, slide, offset, "
        "timezone, gap, key, allowed_lateness, trigger, accumulation, late_data, late_panes, floats, aggregates"
    )


def test_a_guard_without_arrival_time_compares_nothing(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]]
) -> None:
    text = edit(("  arrival_time: landed_at\n", ""), ("order: arrival", "order: event_time"))
    assert [str(problem) for problem in problems_of(text)] == [
        (
            "flights.yaml:8:3: source.future_guard: compares event time with arrival, but there is no "
            "source.arrival_time; take it away"
        )
    ]


def test_a_misplaced_key_is_not_missed_where_it_belongs(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]]
) -> None:
    text = edit(("  out_of_orderness: 6 hours\n", ""), ("  order: arrival", "  out_of_orderness: 6 hours"))
    assert [problem.key for problem in problems_of(text)] == ["replay.out_of_orderness"]


def test_a_file_for_a_later_version_gets_no_errors_about_missing_keys(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]]
) -> None:
    text = edit(("kind: tumbling", "kind: none"), ("size: 1 hour", "evictor: {count: 3}"))
    assert [problem.key for problem in problems_of(text)] == ["windows.kind", "windows.evictor"]


def test_a_wrong_section_is_one_problem() -> None:
    with pytest.raises(PipelineError) as caught:
        parse("name: x\nsource: 1\nwindows: []\nwatermark: two\n")
    assert [problem.key for problem in caught.value.problems] == ["source", "windows", "watermark"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_is_refused(text: str) -> None:
    with pytest.raises(PipelineError, match=r"it is empty|found nothing, expected a mapping with the keys name"):
        parse(text)


def test_a_file_with_two_documents_is_refused() -> None:
    with pytest.raises(PipelineError, match="<text>:2:1: not valid YAML: expected a single document"):
        parse("a: 1\n---\nb: 2\n")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"none\.yaml: cannot be read: No such file or directory"):
        load(tmp_path / "none.yaml")
    with pytest.raises(PipelineError, match="found a folder, expected a file of YAML"):
        load(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("name: é".encode("latin-1"))
    with pytest.raises(PipelineError, match=r"latin\.yaml: is not UTF-8 text: byte 6 is wrong"):
        load(tmp_path / "latin.yaml")


def test_a_problem_in_a_file_names_the_path_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text("\ufeff- a\n", encoding="utf-8")
    with pytest.raises(PipelineError, match=r"^bad\.yaml:1:1: found a list, expected a mapping"):
        load("bad.yaml")


def test_a_mapping_of_python_is_checked_in_the_same_way() -> None:
    mapping = {
        "name": "x",
        "source": {"table": "t", "event_time": "ts", "arrival_time": "a", 3: "b"},
        "watermark": {"strategy": "monotonous", "emit": {"every": 60}},
        "windows": {"size": {1, 2}, "key": "k", "aggregates": {"n": "count(*)"}},
    }
    with pytest.raises(PipelineError) as caught:
        from_mapping(mapping)
    assert sorted(str(problem) for problem in caught.value.problems) == [
        "<mapping>: source: found the key 3; a key is text",
        (
            "<mapping>: watermark.emit.every: found the number 60, expected a duration longer than 0, "
            "such as '1 minute'; "
            "write the unit of 60: '60 hours', '60 minutes', '60 s'"
        ),
        (
            "<mapping>: windows.key: found 'k', expected a list of columns such as [carrier], [] "
            "for one group of all, or {page: payload.page}; "
            "write [k]"
        ),
        "<mapping>: windows.size: found a set; a pipeline is made of text, numbers, true, false, lists and mappings",
    ]
