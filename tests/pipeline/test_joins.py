"""A join in a pipeline file: what it becomes; each contradiction with its line, what was found, what is allowed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

import pytest

from spark_jobs.pipeline import PipelineError, parse
from spark_jobs.pipeline.fingerprint import FORMAT
from spark_jobs.pipeline.joining import bounds, joining
from spark_jobs.pipeline.model import AsOf, Expectation, Join, Placement, Strategy
from spark_jobs.semantics.joins.interval_join import JoinBounds

SOURCES = """
name: paid_orders
sources:
  - name: orders
    table: lake/orders
    event_time: ordered_at
    arrival_time: landed_at
    watermark: {out_of_orderness: 10 seconds}
  - name: payments
    table: lake/payments
    event_time: paid_at
    arrival_time: landed_at
    watermark: {strategy: monotonous}
watermark: {emit: {every: 1 minute}, placement: after_where}
"""
SPLIT = """
name: paid_orders
source: {table: lake/events, event_time: at, arrival_time: landed_at}
watermark: {out_of_orderness: 10 seconds}
"""
INTERVAL = "join: {key: [order_id], between: [-5 minutes, 1 hour]}\n"
WINDOWS = "windows: {size: 1 hour, allowed_lateness: 5 minutes}\n"
BY_WINDOW = "join: {key: [order_id]}\n" + WINDOWS
AS_OF = "join: {key: [order_id], as_of: inner}\n"
BY_CONDITION = """join: {key: [order_id], between: [0s, 1 hour], second_when: "kind = 'payment'"}\n"""


def problems(text: str) -> list[str]:
    with pytest.raises(PipelineError) as refused:
        parse(text, origin="orders.yaml")
    return [str(problem) for problem in refused.value.problems]


def test_two_sources_join_by_interval() -> None:
    pipeline = parse(SOURCES + INTERVAL)
    assert pipeline.join == Join(("orders", "payments"), (("order_id",), ("order_id",)), -300_000, 3_600_000)
    assert pipeline.windows.kind == "none"
    assert bounds(pipeline) == JoinBounds(-300_000, 3_600_000)
    inputs = joining(pipeline)
    assert (inputs.left.source.table, inputs.right.source.table) == ("lake/orders", "lake/payments")
    assert [join_input.watermark.strategy for join_input in inputs.inputs] == [
        Strategy.BOUNDED_OUT_OF_ORDERNESS,
        Strategy.MONOTONOUS,
    ]
    assert {join_input.watermark.placement for join_input in inputs.inputs} == {Placement.AFTER_WHERE}
    assert inputs.emit == pipeline.watermark.emit
    assert inputs.right_when is None


def test_windows_of_an_interval_join_may_be_declared_as_none() -> None:
    assert parse(SOURCES + INTERVAL + "windows: {kind: none}") == parse(SOURCES + INTERVAL)


def test_bounds_may_be_exclusive() -> None:
    text = SOURCES + "join: {key: [], between: [0s, 1s], exclusive: [%s]}"
    ends = {ends: bounds(parse(text % ends)) for ends in ("lower", "upper", "upper, lower")}
    assert [(b.first_ms, b.last_ms) for b in ends.values()] == [(1, 1000), (0, 999), (1, 999)]


def test_inputs_may_call_their_key_differently() -> None:
    pipeline = parse(SOURCES + "join: {key: {payments: [paid_for, at], orders: [order_id, at]}, between: [0s, 1s]}")
    inputs = joining(pipeline)
    assert (inputs.left.key, inputs.right.key) == (("order_id", "at"), ("paid_for", "at"))


def test_two_sources_join_by_window() -> None:
    pipeline = parse(SOURCES + BY_WINDOW)
    assert pipeline.join is not None
    assert not pipeline.join.by_interval
    assert pipeline.windows.size_ms == 3_600_000
    with pytest.raises(ValueError, match="found a join by window"):
        bounds(pipeline)


@pytest.mark.parametrize("kind", AsOf)
def test_two_sources_join_as_of_a_time(kind: AsOf) -> None:
    pipeline = parse(SOURCES + AS_OF.replace("inner", kind))
    assert pipeline.join == Join(("orders", "payments"), (("order_id",), ("order_id",)), as_of=kind)
    assert pipeline.join.keeps_unmatched is (kind is AsOf.LEFT_OUTER)
    assert not pipeline.join.by_interval
    assert not pipeline.join.by_window
    assert pipeline == parse(SOURCES + AS_OF.replace("inner", kind) + "windows: {kind: none}")
    with pytest.raises(ValueError, match="found a join as of a time"):
        bounds(pipeline)


def test_one_source_is_split() -> None:
    pipeline = parse(SPLIT + BY_CONDITION)
    assert pipeline.join is not None
    assert pipeline.join.names == ("left", "right")
    inputs = joining(pipeline)
    assert inputs.right_when == "kind = 'payment'"
    assert inputs.left == inputs.right
    named = parse(SPLIT + BY_CONDITION.replace("key:", "names: [orders, payments], key:"))
    assert named.join is not None
    assert named.join.names == ("orders", "payments")


def test_a_pipeline_without_a_join_has_none_to_give(flights: str, environ: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="found a pipeline without a join"):
        joining(parse(flights, environ=environ))


def test_checks_of_a_join_are_about_its_pairs() -> None:
    quality = "quality: {expectations: [{type: expect_rows_to_satisfy, condition: 'true'}]}\n"
    assert parse(SOURCES + INTERVAL + quality).quality.expectations == (
        Expectation("expect_rows_to_satisfy", "pairs", {"condition": "true"}),
    )


def test_the_fingerprint_distinguishes_joins() -> None:
    texts = [
        SOURCES + INTERVAL,
        SOURCES + INTERVAL.replace("1 hour", "2 hours"),
        SOURCES + INTERVAL.replace("between", "exclusive: [lower], between"),
        SOURCES + BY_WINDOW,
        SOURCES + AS_OF,
        SOURCES + AS_OF.replace("inner", "left_outer"),
        SOURCES + BY_WINDOW.replace("[order_id]", "[]"),
        SPLIT + BY_CONDITION,
        SPLIT + BY_CONDITION.replace("'payment'", "'paid'"),
        SPLIT + BY_CONDITION.replace("key:", "names: [orders, payments], key:"),
    ]
    assert len({parse(text).fingerprint for text in texts}) == len(texts)


def test_a_pipeline_without_a_join_or_complete_results_keeps_its_fingerprint() -> None:
    text = "name: a\nsource: {table: t/t, event_time: at, arrival_time: at}\nwatermark: {out_of_orderness: 1s}\n"
    pipeline = parse(text + "windows: {size: 1s, key: [], aggregates: {n: count(*)}}")
    assert pipeline.join is None
    no_results = ("quality", "repair", "results", "maintenance", "schedule", "path", "places", "join", "publish_to")
    without = {k: v for k, v in asdict(pipeline).items() if k not in no_results}
    del without["replay"]["mode"]
    del without["windows"]["timezone"], without["windows"]["floats"]
    for name in ("columns", "select", "exclude", "quarantine", "deduplicate"):
        del without["source"][name]
    canonical_text = json.dumps([FORMAT, without], sort_keys=True, default=str)
    assert pipeline.fingerprint == hashlib.sha256(canonical_text.encode()).hexdigest()[:16]


# A file, and its only problem as it is printed after 'orders.yaml:'.
CONTRADICTIONS = [
    (
        SOURCES.replace(
            "watermark: {emit",
            "  - {name: refunds, table: r/r, event_time: at, arrival_time: at, "
            "watermark: {strategy: none}}\nwatermark: {emit",
        )
        + INTERVAL,
        "3:1: sources: found 3 sources, and a join has two; leave two, or unite them without a join",
    ),
    (
        SOURCES + INTERVAL.replace("key:", "second_when: is_payment, key:"),
        "15:8: join.second_when: splits one source, and sources are two; keep one of the two",
    ),
    (
        SPLIT + INTERVAL,
        (
            "5:1: join.second_when: missing, expected the SQL condition of the second input's rows, such as "
            "\"kind = 'payment'\"; or write sources, a list of two"
        ),
    ),
    (
        SPLIT + "replay: {order: commit}\n" + BY_CONDITION,
        "5:10: replay.order: found commit with a join, which reads in the order of arrival or event_time",
    ),
    (
        SOURCES + INTERVAL.replace("[order_id]", "{orders: [a], payment: [a]}"),
        "15:27: join.key.payment: found the input 'payment', expected orders and payments; did you mean 'payments'?",
    ),
    (
        SOURCES + INTERVAL.replace("[order_id]", "{orders: [a]}"),
        "15:8: join.key: found no columns of payments, expected those of both inputs",
    ),
    (
        SOURCES + INTERVAL.replace("[order_id]", "{orders: [a, b], payments: [a]}"),
        (
            "15:8: join.key: found 2 columns of orders and 1 of payments; they are compared one by one, so each needs "
            "as many"
        ),
    ),
    (
        SOURCES + "join: {between: [0s, 1s]}",
        (
            "15:1: join.key: missing, expected a list of columns such as [order_id], "
            "[] to join all rows, or a list by the name of each input"
        ),
    ),
    (
        SOURCES + INTERVAL.replace("-5 minutes", "2 hours"),
        "15:25: join.between: found the lower bound 2 hours, which is greater than the upper, 1 hour; turn them round",
    ),
    (
        SOURCES + INTERVAL.replace("-5 minutes, ", ""),
        "15:25: join.between: found 1 bounds, expected two, such as [-5 minutes, 1 hour]",
    ),
    (
        SOURCES + BY_WINDOW.replace("key:", "exclusive: [upper], key:"),
        "15:8: join.exclusive: is about the bounds of between, which is missing; take it away",
    ),
    (
        SOURCES + INTERVAL.replace("key:", "exclusive: [uper], key:"),
        "15:20: join.exclusive[0]: found 'uper', expected lower or upper; did you mean 'upper'?",
    ),
    (
        SOURCES + INTERVAL.replace("key:", "names: [a, b], key:"),
        "15:8: join.names: belongs to one source that second_when splits; two sources have names already",
    ),
    (
        SPLIT + BY_CONDITION.replace("key:", "names: [a], key:"),
        "5:8: join.names: found 1 names, expected one for each input, such as [orders, payments]",
    ),
    (
        SOURCES + INTERVAL.replace("key:", "as_of: inner, key:"),
        "15:8: join.as_of: found as_of and between, and rows join in one way; take one of the two away",
    ),
    (
        SOURCES + AS_OF + WINDOWS,
        "16:1: windows: found tumbling windows and join.as_of; take as_of away, or write kind: none",
    ),
    (
        SOURCES + AS_OF.replace("inner", "left"),
        "15:32: join.as_of: found 'left', expected inner or left_outer; did you mean 'left_outer'?",
    ),
    (
        SOURCES + AS_OF.replace("key:", "exclusive: [upper], key:"),
        "15:8: join.exclusive: is about the bounds of between, which is missing; take it away",
    ),
    (
        SOURCES.replace("name: orders", "name: event_time") + AS_OF,
        "4:5: sources[0].name: found the name 'event_time', which is a column of pairs themselves; use another name",
    ),
    (
        SOURCES + INTERVAL + WINDOWS,
        "16:1: windows: found tumbling windows and join.between; take between away, or write kind: none",
    ),
    (
        SOURCES + "join: {key: [order_id]}\n",
        (
            "15:1: join.between: missing, and there are no windows; a join has bounds such as between: "
            "[-5 minutes, 1 hour], as_of, or windows"
        ),
    ),
    (
        SOURCES + "join: {key: [order_id]}\nwindows: {kind: none}",
        (
            "16:11: windows.kind: found none and no join.between or join.as_of; a join has bounds such as between: "
            "[-5 minutes, 1 hour], as_of, or windows"
        ),
    ),
    (
        SOURCES + INTERVAL + "windows: {kind: none, size: 1 hour}",
        "16:23: windows.size: belongs to windows, and windows.kind is none; take it away",
    ),
    (
        SOURCES + INTERVAL + "windows: {kind: none, key: [a]}",
        "16:23: windows.key: a join declares its key itself; write it as join.key",
    ),
    (
        SOURCES + BY_WINDOW.replace("size:", "key: [a], size:"),
        "16:11: windows.key: a join declares its key itself; write it as join.key",
    ),
    (
        SOURCES + BY_WINDOW.replace("size:", "aggregates: {n: count(*)}, size:"),
        "16:11: windows.aggregates: a join gives pairs, and no aggregates; take it away, and aggregate the table pairs",
    ),
    (
        SOURCES + BY_WINDOW.replace("size:", "accumulation: retracting, size:"),
        "16:11: windows.accumulation: found retracting with a join, expected accumulating or discarding",
    ),
    (
        SOURCES + BY_WINDOW.replace("size:", "late_panes: per_epoch, size:"),
        "16:11: windows.late_panes: found per_epoch with a join, expected per_row",
    ),
    (
        SOURCES + BY_WINDOW.replace("size:", "floats: arrival_order, size:"),
        "16:11: windows.floats: found arrival_order with a join, which adds nothing; take it away",
    ),
    (
        SOURCES + BY_WINDOW.replace("size:", "trigger: {count: 3}, size:"),
        "16:11: windows.trigger: found count with a join, expected event_time",
    ),
    (
        SOURCES.replace("name: orders", "name: fired_at") + INTERVAL,
        "4:5: sources[0].name: found the name 'fired_at', which is a column of pairs themselves; use another name",
    ),
    (
        SPLIT + BY_CONDITION.replace("key:", "names: [orders, window_start], key:"),
        "5:8: join.names: found the name 'window_start', which is a column of pairs themselves; use another name",
    ),
    (
        SOURCES.replace("name: orders", "name: order_id") + BY_WINDOW,
        "4:5: sources[0].name: found the name 'order_id', which is also a column of the key; use another name",
    ),
    (
        SOURCES + BY_WINDOW.replace("order_id", "Watermark"),
        "15:8: join.key: found the column 'Watermark', and pairs have one of that name; rename it in the source",
    ),
    (
        SOURCES + INTERVAL + "quality: {expectations: [{type: expect_rows_to_satisfy, table: panes}]}",
        "16:57: quality.expectations[0].table: found panes, and a join has pairs, late_events, invalid_events",
    ),
    (
        SOURCES + INTERVAL + "replay: {mode: complete}",
        ("16:10: replay.mode: found complete with a join, which has faithful pairs only; take it away"),
    ),
    (
        SOURCES + "windows: {kind: none}",
        "15:11: windows.kind: none belongs to a join by interval or as of, expected tumbling, sliding or session",
    ),
    (
        SOURCES + "join: [order_id]\n",
        "15:7: join: found a list, expected a mapping with the keys key, between, exclusive, as_of, names, second_when",
    ),
]


@pytest.mark.parametrize(("text", "message"), CONTRADICTIONS)
def test_what_does_not_go_together_is_one_clear_error(text: str, message: str) -> None:
    assert problems(text) == [f"orders.yaml:{message}"]


def test_a_file_has_windows_or_a_join() -> None:
    (problem,) = problems(SOURCES)
    assert problem.startswith("orders.yaml:2:1: windows: missing, expected a mapping with the keys kind, size")


def test_a_pipeline_without_a_join_has_no_tables_of_a_join(flights: str, environ: dict[str, str]) -> None:
    with pytest.raises(PipelineError, match=r"expectations\[0\].table: found pairs, and a pipeline without a join has"):
        parse(flights.replace("table: panes", "table: pairs"), environ=environ)
