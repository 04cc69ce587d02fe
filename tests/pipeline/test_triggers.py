"""The trigger of a pipeline file: what may be written, and the errors for everything else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.pipeline import Problem, Trigger, TriggerKind, parse

TRIGGERS = "event_time, {continuous: 5 minutes} or {count: 1000}"
LINE = "  accumulation: accumulating"


@pytest.mark.parametrize(
    ("setting", "trigger"),
    [
        ("event_time", Trigger()),
        ("{continuous: 5 minutes}", Trigger(TriggerKind.CONTINUOUS, interval_ms=300_000)),
        ("{count: 3}", Trigger(TriggerKind.COUNT, n=3)),
    ],
)
def test_a_trigger_is_read(edit: Callable[..., str], environ: dict[str, str], setting: str, trigger: Trigger) -> None:
    text = edit((LINE, f"{LINE}\n  trigger: {setting}"))
    assert parse(text, environ=environ).windows.trigger == trigger


def test_the_default_may_be_left_out_or_written(
    flights: str, edit: Callable[..., str], environ: dict[str, str]
) -> None:
    explicit_pipeline = parse(edit((LINE, f"{LINE}\n  trigger: event_time")), environ=environ)
    assert explicit_pipeline.fingerprint == parse(flights, environ=environ).fingerprint


def test_a_trigger_changes_the_fingerprint(flights: str, edit: Callable[..., str], environ: dict[str, str]) -> None:
    texts = [
        flights,
        *(edit((LINE, f"{LINE}\n  trigger: {{{t}}}")) for t in ("count: 3", "count: 4", "continuous: 4ms")),
    ]
    assert len({parse(text, environ=environ).fingerprint for text in texts}) == 4


@pytest.mark.parametrize(
    ("setting", "key", "message"),
    [
        ("event_tim", "", f"found 'event_tim', expected {TRIGGERS}; did you mean 'event_time'?"),
        ("{}", "", f"found neither continuous nor count; write {TRIGGERS}"),
        (
            "purging",
            "",
            f"found 'purging', expected {TRIGGERS}; write windows.accumulation discarding, with any trigger",
        ),
        ("end_of_stream", "", f"found 'end_of_stream', expected {TRIGGERS}; it is not supported by this version"),
        ("count", "", f"found 'count', expected {TRIGGERS}; write how many rows, as in {{count: 1000}}"),
        (
            "continuous",
            "",
            f"found 'continuous', expected {TRIGGERS}; write how often, as in {{continuous: 5 minutes}}",
        ),
        ("[count]", "", f"found a list, expected {TRIGGERS}"),
        ("{count: 0}", ".count", "found the number 0, expected a number of rows, at least 1"),
        (
            "{continuous: 0s}",
            ".continuous",
            "found '0s', expected a duration longer than 0, such as '5 minutes'; it must be at least 1 ms",
        ),
        (
            "{continuous: 1h, count: 3}",
            ".count",
            "contradicts continuous: a window fires by the watermark or by the number of rows; keep one",
        ),
        (
            "{continous: 5 min}",
            ".continous",
            "unknown key; did you mean 'continuous'? known keys: continuous, count",
        ),
    ],
)
def test_a_wrong_trigger_is_named(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], setting: str, key: str, message: str
) -> None:
    (problem,) = problems_of(edit((LINE, f"{LINE}\n  trigger: {setting}")))
    assert (problem.key, problem.message) == (f"windows.trigger{key}", message)
