"""The events of an audit that an OpenLineage endpoint receives: a real endpoint, which listens on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from expectations.check_result import Check
from spark_jobs.jobs.audit import openlineage
from spark_jobs.pipeline import LateData, Pipeline, Source, TimeField, Windows
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run, Step

BEGAN = datetime(2024, 3, 31, 1, tzinfo=UTC)
PIPELINE = Pipeline("departures", Source("s3a://raw/flights", TimeField("at")), Windows(size_ms=1000))
CHECKS = [
    Check("panes", "no_pane_is_empty", "Every pane has rows.", True, "0 of 7 rows", 0, "", table="panes"),
    Check("silence", "no_source_partition_is_silent", "All speak.", False, "1 of 3 rows", 1, "secret", blocks=False),
    Check("pipeline", "expect_it(late_events.a)", "a=1", False, "2 values", 2, "secret", table="late_events"),
]


class Endpoint:
    """Takes events, and answers each with `status`."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.status = 201
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint.events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(endpoint.status)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture(name="endpoint")
def _endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    endpoint = Endpoint()
    thread = Thread(target=endpoint.server.serve_forever)
    thread.start()
    monkeypatch.setenv("OPENLINEAGE_URL", endpoint.url)
    yield endpoint
    endpoint.server.shutdown()
    endpoint.server.server_close()
    thread.join()


def problems_of(checks: list[Check], *, blocked: bool = False, pipeline: Pipeline = PIPELINE) -> list[str]:
    """Emit the audit of a run with 40 rows and 7 panes; return the problems."""
    step = Step("replay", "done", BEGAN, BEGAN, {"rows_read": 40, "panes": 7, "windows": 5, "too_late": 2})
    run = Run("r0123", "departures", "f", "full", 3, None, None, (step,))
    problems: list[str] = []
    openlineage.emit_audit(
        pipeline, Lake("/lake", "departures"), run, checks, blocked=blocked, began=BEGAN, problem=problems.append
    )
    return problems


def test_an_audit_begins_and_ends_with_what_its_checks_have_found(endpoint: Endpoint) -> None:
    assert problems_of(CHECKS) == []
    start, end = endpoint.events
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == end["run"]["runId"]
    assert end["job"]["namespace"] == "tidemark"
    assert end["job"]["name"] == "departures.audit"
    assert end["run"]["facets"]["tags"]["tags"][0]["value"] == "r0123"
    assert start["eventTime"] == "2024-03-31T01:00:00+00:00"
    inputs = {(entry["namespace"], entry["name"]): entry["inputFacets"] for entry in end["inputs"]}
    assert set(inputs) == {
        ("s3://raw", "flights"),
        *(
            ("file", f"/lake/departures/{table}")
            for table in ("panes", "window_results", "late_events", "invalid_events", "watermarks")
        ),
    }
    rows = {
        name[1].split("/")[-1]: facets.get("dataQualityMetrics", {}).get("rowCount") for name, facets in inputs.items()
    }
    assert rows == {
        "flights": 40,
        "panes": 7,
        "window_results": 5,
        "late_events": 2,
        "invalid_events": None,
        "watermarks": None,
    }
    assertions = {
        name[1].split("/")[-1]: [(a["assertion"], a["success"], a["severity"], a["actual"]) for a in facets]
        for name, facets in ((n, f.get("dataQualityAssertions", {}).get("assertions", [])) for n, f in inputs.items())
        if facets
    }
    assert assertions == {
        "flights": [("silence.no_source_partition_is_silent", False, "warn", "1 of 3 rows")],
        "panes": [("panes.no_pane_is_empty", True, "error", "0 of 7 rows")],
        "late_events": [("pipeline.expect_it(late_events.a)", False, "error", "2 values")],
    }
    assert "secret" not in json.dumps(endpoint.events)


def test_audit_with_blocking_checks_ends_as_failed(endpoint: Endpoint) -> None:
    assert problems_of(CHECKS, blocked=True) == []
    assert [event["eventType"] for event in endpoint.events] == ["START", "FAIL"]


def test_an_endpoint_that_refuses_is_a_problem_and_no_more(endpoint: Endpoint) -> None:
    endpoint.status = 400
    (problem,) = problems_of(CHECKS)
    assert problem.startswith("OpenLineage did not receive the checks: ")
    assert "400" in problem


def test_no_event_is_sent_without_an_endpoint(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    assert problems_of(CHECKS) == []
    monkeypatch.delenv("OPENLINEAGE_DISABLED")
    monkeypatch.delenv("OPENLINEAGE_URL")
    assert problems_of(CHECKS) == []
    assert endpoint.events == []


def test_rows_that_are_dropped_are_in_no_table(endpoint: Endpoint) -> None:
    windows = replace(PIPELINE.windows, late_data=LateData.DROP)
    assert problems_of(CHECKS, pipeline=replace(PIPELINE, windows=windows)) == []
    inputs = {entry["name"].split("/")[-1]: entry["inputFacets"] for entry in endpoint.events[1]["inputs"]}
    assert inputs["late_events"]["dataQualityMetrics"]["rowCount"] == 0


@pytest.mark.parametrize(
    ("environ", "is_configured"),
    [
        ({}, False),
        ({"OPENLINEAGE_URL": ""}, False),
        ({"OPENLINEAGE_URL": "http://a"}, True),
        ({"OPENLINEAGE_CONFIG": "/etc/openlineage.yml"}, True),
        ({"OPENLINEAGE__TRANSPORT__TYPE": "console"}, True),
        ({"OPENLINEAGE_NAMESPACE": "data"}, False),
        ({"OPENLINEAGE_URL": "http://a", "OPENLINEAGE_DISABLED": " True"}, False),
    ],
)
def test_endpoint_is_configured_by_the_environment(environ: dict[str, str], is_configured: bool) -> None:
    assert openlineage.is_configured(environ) is is_configured


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("/data/flights/", ("file", "/data/flights")),
        ("file:///data/flights", ("file", "/data/flights")),
        ("s3a://bucket/a/b", ("s3://bucket", "a/b")),
        ("hdfs://name:8020/a/b", ("hdfs://name:8020", "/a/b")),
        ("lake.web.clicks", ("tidemark", "lake.web.clicks")),
    ],
)
def test_tables_have_their_openlineage_names(table: str, expected: tuple[str, str]) -> None:
    assert openlineage.named(table) == expected
