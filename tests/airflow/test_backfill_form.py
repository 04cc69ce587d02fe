"""The form of a backfill: what its fields take, and the errors of the first task for a form that cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk.exceptions import ParamValidationError

from spark_jobs.pipeline import Pipeline, load
from tests.airflow.clone import Clone
from tidemark_airflow.dags.backfill_form import FormError, form, request_of
from tidemark_airflow.jobs.request import plan_arguments

pytestmark = pytest.mark.airflow


@pytest.fixture(name="pipelines")
def _pipelines(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> dict[str, Pipeline]:
    monkeypatch.setenv("TIDEMARK_LAKE", str(clone.lake))
    return {name: load(clone.add(name)) for name in ("visits", "sales")}


def filled(pipelines: dict[str, Pipeline], **fields: Any) -> dict[str, Any]:
    """Return a form in which only the pipeline is chosen, but for these fields."""
    return {**{name: param.value for name, param in form(pipelines).items()}, "pipeline": "sales", **fields}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("pipeline", ["sales", "visits"]),
        ("from", [None, "", "2013-07-01", "2013-07-01T06:00", "2013-07-01T06:00:00Z", "2013-07-01T06:00:00.000+02:00"]),
        ("to", [None, "2013-07-01 06:00:00-0500"]),
        ("out_of_orderness", [None, "6 hours", "1h 30m", "PT6H", "0s"]),
        ("allowed_lateness", ["2 days", "500 ms"]),
        ("emit", [None, "per_event", "{every: 1 minute}", "{every: 1 min, phase: 10 s}", "{every_n: 1000}"]),
        ("slices", [1, 24]),
        ("every", [None, "1 day", "PT6H"]),
        ("order", ["oldest first", "newest first"]),
        ("side_by_side", [1, 2, 4, 8]),
        ("only_missing", [True, False, None]),
        ("dry_run", [True, False]),
        ("settings", [{}, {"windows.size": "2 hours", "quality.max_too_late_ratio": 0.5, "source.where": None}]),
    ],
)
def test_a_field_takes(pipelines: dict[str, Pipeline], field: str, values: list[Any]) -> None:
    for value in values:
        assert form(pipelines)[field].resolve(value) == value


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("pipeline", ["", "departures", None]),
        ("from", [1]),
        ("out_of_orderness", [6]),
        ("slices", [0, 1001, 1.5, "2", None]),
        ("every", [1]),
        ("order", ["random", None]),
        ("side_by_side", [0, 3, 16, "2", None]),
        ("approve", ["yes"]),
        ("settings", ["windows.size", {"size": "1 hour"}, {"--set": "x"}, {"windows.size; rm": "1 hour"}]),
    ],
)
def test_a_field_refuses_before_a_run_begins(pipelines: dict[str, Pipeline], field: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ParamValidationError):
            form(pipelines)[field].resolve(value)


def test_only_what_must_be_filled_is_marked_so(pipelines: dict[str, Pipeline]) -> None:
    # Airflow puts a star on fields whose type has no null.
    marked = [name for name, param in form(pipelines).items() if "null" not in param.schema["type"]]
    assert marked == ["pipeline", "order", "side_by_side", "slices"]


def test_no_text_is_refused_by_a_regular_expression(pipelines: dict[str, Pipeline]) -> None:
    assert [name for name, param in form(pipelines).items() if "pattern" in param.schema] == []


def test_rare_fields_are_folded(pipelines: dict[str, Pipeline]) -> None:
    sections = {name: param.schema.get("section") for name, param in form(pipelines).items()}
    assert [name for name, section in sections.items() if section is None] == [
        *("pipeline", "from", "to", "changed", "dry_run", "approve"),
    ]
    assert {sections[name] for name in ("slices", "apart", "restate", "complete")} == {"Advanced"}
    of_intervals = {sections[name] for name in ("every", "order", "side_by_side", "only_missing")}
    assert of_intervals == {"A run for each interval"}


def test_an_untouched_form_is_the_whole_of_a_pipeline_as_in_its_file(pipelines: dict[str, Pipeline]) -> None:
    request = request_of(filled(pipelines), pipelines)
    assert request == {"pipeline_file": pipelines["sales"].path, "start": None, "end": None, "overrides": {}}


def test_restating_is_requested_only_by_its_field(pipelines: dict[str, Pipeline]) -> None:
    assert request_of(filled(pipelines, restate=True), pipelines)["restate"] is True
    assert "restate" not in request_of(filled(pipelines, restate=False), pipelines)


def test_how_a_run_is_done_is_requested_only_by_its_fields(pipelines: dict[str, Pipeline]) -> None:
    request = request_of(filled(pipelines, dry_run=True, approve=True, slices=4), pipelines)
    assert (request["dry_run"], request["approve"], request["slices"]) == (True, True, 4)
    assert "apart" not in request
    assert request_of(filled(pipelines, slices=4, apart=True), pipelines)["apart"] is True
    # One slice is nothing to set apart.
    assert "apart" not in request_of(filled(pipelines, apart=True), pipelines)


DAY = {"from": "2013-07-01", "to": "2013-07-02"}


@pytest.mark.parametrize("field", ["from", "to", "every"])
def test_what_changed_decides_the_windows_alone(pipelines: dict[str, Pipeline], field: str) -> None:
    assert request_of(filled(pipelines, changed=True), pipelines)["changed"] is True
    value = {**DAY, "every": "1 hour"}[field]
    with pytest.raises(FormError, match="changed: the changes of the source decide which windows are computed"):
        request_of(filled(pipelines, changed=True, **{field: value}), pipelines)


def test_a_range_is_cut_into_intervals_only_by_their_length(pipelines: dict[str, Pipeline]) -> None:
    request = request_of(filled(pipelines, **DAY, every=" 6 hours "), pipelines)
    intervals = {"every": "6 hours", "side_by_side": 1, "newest_first": False, "only_missing": False}
    assert {name: request.get(name) for name in intervals} == intervals
    fields = {"order": "newest first", "side_by_side": 4, "only_missing": True, "slices": 2}
    request = request_of(filled(pipelines, **DAY, every="6 hours", **fields), pipelines)
    assert (request["newest_first"], request["side_by_side"], request["only_missing"]) == (True, 4, True)
    assert request["slices"] == 2
    in_one_piece = request_of(filled(pipelines, **DAY, order="newest first", side_by_side=4), pipelines)
    assert set(in_one_piece) == {"pipeline_file", "start", "end", "overrides"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({**DAY, "every": "soon"}, "every: found 'soon', no duration; write a number and a unit, such as '6 hours'"),
        ({**DAY, "every": "1 month"}, "every: found '1 month', 'month' has no fixed length; write days"),
        ({**DAY, "every": "-1 day"}, "every: found '-1 day', a negative duration is not allowed here"),
        ({**DAY, "every": "90 minutes"}, "every: found 1 hour 30 minutes, but windows begin every 1 hour; write a"),
        ({**DAY, "every": "0s"}, "every: found 0s, but windows begin every 1 hour"),
        ({**DAY, "every": "1 hour", "to": "2014-07-01"}, "every: found 1 hour, which makes 8,760 intervals of this"),
        ({**DAY, "every": "1 day", "from": "2013-06-30T12:30"}, "from: cuts a window, which begins 30 minutes earlier"),
        ({**DAY, "every": "1 day", "to": "2013-07-01T12:30"}, "to: cuts a window, which begins 30 minutes earlier"),
        ({"every": "1 day", "from": "2013-07-01"}, "to: empty, and a range that is cut into intervals has both"),
        ({"every": "1 day", "to": "2013-07-01"}, "from: empty, and a range that is cut into intervals has both"),
        ({**DAY, "only_missing": True}, "only_missing: every is empty, so there is no interval to leave out"),
        ({**DAY, "every": "6 hours", "slices": 2, "apart": True}, "apart: one application computes all slices of an"),
        ({**DAY, "every": "1 hour", "settings": {"windows.size": "2 hours"}}, "but windows begin every 2 hours"),
    ],
)
def test_intervals_that_cannot_be_are_refused_with_what_is_wrong(
    pipelines: dict[str, Pipeline], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(FormError) as refused:
        request_of(filled(pipelines, **fields), pipelines)
    assert message in str(refused.value)


def test_intervals_of_another_wrong_field_are_named_beside_it(pipelines: dict[str, Pipeline]) -> None:
    with pytest.raises(FormError) as refused:
        request_of(filled(pipelines, every="soon", allowed_lateness="3 parsecs", to="2013-13-01"), pipelines)
    assert "to: found '2013-13-01'" in str(refused.value)
    assert "every: found 'soon'" in str(refused.value)
    assert "from: empty" in str(refused.value)


def test_complete_results_are_a_setting_of_the_file(pipelines: dict[str, Pipeline]) -> None:
    assert request_of(filled(pipelines, complete=True), pipelines)["overrides"] == {"replay.mode": "complete"}
    with pytest.raises(FormError, match=r"settings: replay.mode is also the field complete"):
        request_of(filled(pipelines, complete=True, settings={"replay.mode": "faithful"}), pipelines)


def test_a_filled_form_becomes_utc_times_and_overrides_of_the_file(pipelines: dict[str, Pipeline]) -> None:
    fields = {
        "pipeline": "visits",
        "from": "2013-07-01",
        "to": "2013-07-02T02:00+02:00",
        "out_of_orderness": " 6 hours ",
        "allowed_lateness": "2 hours",
        "emit": "{every: 1 minute}",
        "settings": {"windows.trigger": {"count": 3}, "windows.size": "2 hours"},
    }
    assert request_of(filled(pipelines, **fields), pipelines) == {
        "pipeline_file": pipelines["visits"].path,
        "start": "2013-07-01T00:00:00+00:00",
        "end": "2013-07-02T00:00:00+00:00",
        "overrides": {
            "windows.trigger": '{"count": 3}',
            "windows.size": "2 hours",
            "watermark.out_of_orderness": "6 hours",
            "windows.allowed_lateness": "2 hours",
            "watermark.emit": "{every: 1 minute}",
        },
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pipeline": "departures"}, "pipeline: there is no good pipeline file for 'departures'"),
        ({"from": "yesterday"}, "from: found 'yesterday', expected a time such as 2013-07-01"),
        ({"to": "2013-07-01T06:00:00 Europe/Berlin"}, "to: found '2013-07-01T06:00:00 Europe/Berlin'"),
        ({"out_of_orderness": "-1 hour"}, "a negative duration is not allowed here"),
        ({"allowed_lateness": "two hours"}, "found 'two hours'"),
        ({"allowed_lateness": "6"}, "write the unit of 6"),
        ({"emit": "every minute"}, "override 'watermark.emit'"),
        ({"from": "2013-02-30"}, "from: found '2013-02-30', expected a time such as 2013-07-01"),
        ({"from": "2013-07-02", "to": "2013-07-02"}, "holds no window"),
        ({"out_of_orderness": "6 fortnights"}, "override 'watermark.out_of_orderness': found '6 fortnights'"),
        ({"emit": "{every: soon}"}, "override 'watermark.emit'"),
        ({"settings": {"watermark.emit.evry": "1 hour"}}, "did you mean 'every'?"),
        (
            {"emit": "per_event", "settings": {"watermark.emit": "per_event"}},
            "settings: watermark.emit is also the field emit",
        ),
    ],
)
def test_the_first_task_refuses_a_form_with_what_is_wrong(
    pipelines: dict[str, Pipeline], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(FormError) as refused:
        request_of(filled(pipelines, **fields), pipelines)
    assert message in str(refused.value)


def test_everything_that_is_wrong_is_in_one_error(pipelines: dict[str, Pipeline]) -> None:
    with pytest.raises(FormError) as refused:
        request_of(filled(pipelines, to="2013-13-01", allowed_lateness="3 parsecs"), pipelines)
    assert "to: found" in str(refused.value)
    assert "windows.allowed_lateness" in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("source.table", "/other/table"),
        ("source.where", "true"),
        ("source.event_time", "now()"),
        ("sources", []),
        ("watermark.strategy", "custom"),
        ("watermark.class", "os:system"),
        ("watermark.when", "true"),
        ("windows.key", ["place"]),
        ("windows.aggregates", {"x": "max(a)"}),
        ("windows.aggregates.x", "max(a)"),
        ("windows.sizes", "1 hour"),
        ("quality.on_failure", "warn"),
        ("quality.max_late_ratio", 1),
        ("quality.expectations", []),
        ("name", "visits"),
    ],
)
def test_a_form_replaces_no_table_column_expression_class_or_check(
    pipelines: dict[str, Pipeline], key: str, value: Any
) -> None:
    refusal = f"settings: a form may not replace {key}. Change it in the pipeline file, or let an administrator"
    with pytest.raises(FormError) as refused:
        request_of(filled(pipelines, settings={key: value}), pipelines)
    assert refusal in str(refused.value)


def test_an_administrator_allows_further_settings(
    pipelines: dict[str, Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_FORM_SETTINGS", "windows.key, quality")
    overrides = {"windows.key": ["place"], "quality.max_late_ratio": 1}
    request = request_of(filled(pipelines, settings=overrides), pipelines)
    assert request["overrides"] == {"windows.key": '["place"]', "quality.max_late_ratio": "1"}
    with pytest.raises(FormError, match=r"may not replace windows\.aggregates"):
        request_of(filled(pipelines, settings={"windows.aggregates": {}}), pipelines)


@pytest.mark.parametrize("field", [{"settings": {"windows.size": "${A_SECRET}"}}, {"emit": "{every: '${A_SECRET}'}"}])
def test_a_form_does_not_show_the_value_of_a_variable(
    pipelines: dict[str, Pipeline], field: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "hunter2")
    with pytest.raises(FormError, match="A form reads no environment variables") as refused:
        request_of(filled(pipelines, **field), pipelines)
    assert "hunter2" not in str(refused.value)


def test_a_request_that_was_changed_behind_the_form_starts_no_job(pipelines: dict[str, Pipeline]) -> None:
    request = request_of(filled(pipelines), pipelines)
    request["overrides"] = {"source.table": "/other/table"}
    with pytest.raises(ValueError, match=r"may not replace source\.table"):
        plan_arguments(request)


def test_a_pipeline_must_be_chosen(pipelines: dict[str, Pipeline]) -> None:
    with pytest.raises(ParamValidationError):
        form(pipelines)["pipeline"].resolve()
