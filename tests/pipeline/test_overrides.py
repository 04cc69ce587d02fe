"""Overrides: the file as if other values stood in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.pipeline import Emit, EmitKind, Problem, Strategy, parse


def test_an_override_means_what_the_same_edit_of_the_file_means(
    flights: str, edit: Callable[..., str], environ: dict[str, str]
) -> None:
    overrides = {
        "watermark.out_of_orderness": "3 hours",
        "windows.key": "[carrier, origin]",
        "quality.on_failure": "warn",
    }
    edited = edit(
        ("out_of_orderness: 6 hours", "out_of_orderness: 3 hours"),
        ("[carrier]", "[carrier, origin]"),
        ("on_failure: block", "on_failure: warn"),
    )
    assert parse(flights, overrides=overrides, environ=environ) == parse(edited, environ=environ)


def test_an_override_adds_a_key_and_the_mappings_around_it(environ: dict[str, str]) -> None:
    source = "source: {table: t, event_time: e, arrival_time: a}"
    text = f"name: x\n{source}\nwindows: {{size: 1 h, key: [], aggregates: {{n: count(*)}}}}\n"
    overrides = {"watermark.strategy": "monotonous", "watermark.emit": "{every_n: 7}", "windows.aggregates.m": "max(x)"}
    pipeline = parse(text, overrides=overrides, environ=environ)
    assert pipeline.watermark.emit == Emit(EmitKind.EVERY_N, n=7)
    assert [aggregate.name for aggregate in pipeline.windows.aggregates] == ["n", "m"]


def test_null_takes_a_key_away(flights: str, environ: dict[str, str]) -> None:
    overrides = {"watermark.strategy": "monotonous", "watermark.out_of_orderness": "null", "schedule": "~"}
    pipeline = parse(flights, overrides=overrides, environ=environ)
    assert pipeline.watermark.strategy is Strategy.MONOTONOUS
    assert pipeline.schedule is None


@pytest.mark.parametrize("turn", [1, -1])
def test_the_order_of_overrides_does_not_matter(flights: str, environ: dict[str, str], turn: int) -> None:
    items = [("windows.size", "2 hours"), ("windows", "{size: 1 day, key: [], aggregates: {n: count(*)}}")]
    pipeline = parse(flights, overrides=dict(items[::turn]), environ=environ)
    assert (pipeline.windows.size_ms, pipeline.windows.key) == (7_200_000, ())


def test_an_override_may_use_variables_and_plain_values(flights: str, environ: dict[str, str]) -> None:
    overrides = {"source.table": "${TIDEMARK_LAKE}/other", "quality.max_too_late_ratio": 0.5, "windows.key": ["a"]}
    pipeline = parse(flights, overrides=overrides, environ=environ)
    assert pipeline.source.table == "/lake/other"
    assert pipeline.quality.max_too_late_ratio == 0.5
    assert pipeline.windows.key == ("a",)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "windows.allowed_lateness",
            "3",
            (
                "found the number 3, expected a duration such as '6 hours' or '0s'; write the unit of 3: "
                "'3 hours', '3 minutes', '3 s'"
            ),
        ),
        (
            "windows.sise",
            "3 h",
            (
                "unknown key; did you mean 'size'? known keys: kind, size, slide, offset, timezone, gap, key, "
                "allowed_lateness, trigger, accumulation, late_data, late_panes, floats, aggregates"
            ),
        ),
        ("windows.offset", "2 h", "2 hours is not shorter than the size, 1 hour; 0s gives the same windows"),
        (
            "watermark.emit",
            "{every: 1 s, fase: 0s}",
            "watermark.emit.fase: unknown key; did you mean 'phase'? known keys: every, phase, every_n",
        ),
        (
            "source.event_time.unit",
            "ms",
            "source.event_time is 'departed_at', not a mapping; override source.event_time as a whole",
        ),
        ("windows.slide", "null", "there is nothing to take away; the file does not set this key"),
        ("windows.size", "", "it is empty"),
        ("windows..size", "1 h", "no dotted key; write it like windows.size"),
        ("", "1 h", "no dotted key; write it like windows.size"),
        ("windows.size", "${NONE}", "the environment variable NONE is not set; set it, or write ${NONE:-default}"),
        (
            "windows.key",
            "[a",
            (
                "not valid YAML: while parsing a flow sequence, expected ',' or ']', but got '<stream end>'; "
                "text with : # * @ % { or [ needs quotes"
            ),
        ),
    ],
)
def test_a_wrong_override_is_named(
    flights: str, problems_of: Callable[..., list[Problem]], key: str, value: str, message: str
) -> None:
    (problem,) = problems_of(flights, {key: value})
    assert str(problem) == f"flights.yaml: override '{key}': {message}"


def test_an_override_that_contradicts_the_file_is_an_error_at_the_place_in_the_file(
    flights: str, problems_of: Callable[..., list[Problem]]
) -> None:
    (problem,) = problems_of(flights, {"watermark.strategy": "monotonous"})
    assert str(problem).startswith(
        "flights.yaml:16:3: watermark.out_of_orderness: watermark.strategy monotonous has no"
    )


def test_problems_of_overrides_come_after_those_of_the_file(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]]
) -> None:
    problems = problems_of(edit(("size: 1 hour", "size: 6")), {"name": "X"})
    assert [problem.key for problem in problems] == ["windows.size", "name"]
