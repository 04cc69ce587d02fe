"""Lineage: what the checks of a run have found, told to an OpenLineage endpoint, if the environment names one.

An audit is a run of the job `<pipeline>.audit`, which begins, and ends as COMPLETE or, where its checks block, as FAIL.
Its inputs are the source and the tables that the run has staged, under the names by which they are published; each with
the number of its rows and the assertions about it. Rows of examples stay in the lake.

Where events go is OpenLineage's own configuration: `OPENLINEAGE_URL`, `OPENLINEAGE_CONFIG` or `OPENLINEAGE__TRANSPORT`.
The client is imported where one of these is set, and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spark_jobs import __version__
from spark_jobs.pipeline import published_tables
from spark_jobs.tables.lake import Lake, result_tables

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, RunEvent

    from expectations import Check
    from spark_jobs.pipeline.model import Pipeline
    from spark_jobs.tables.ledger import Run

#: Suites that are about one table; those that are not are about the source.
TABLES = {
    "source": "invalid_events",
    "watermarks": "watermarks",
    "clock": "watermarks",
    "panes": "panes",
    "retractions": "panes",
    "window_results": "window_results",
    "late_events": "late_events",
    "complete_results": "complete_results",
    "coverage": "window_results",
    "drift": "window_results",
    "live": "window_results",
    "pairs": "pairs",
    "pair_firings": "pairs",
    "late_join_rows": "late_events",
}
# The count of a run that equals the rows of each table, and of the source.
_COUNTS = {"": "rows_read", **{table.name: table.counted_as for table in published_tables.ALL if table.counted_as}}
_SETTINGS = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
_TRANSPORT = "OPENLINEAGE__TRANSPORT"


def is_asked(environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether the environment names an endpoint, and does not turn it off."""
    if environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return False
    return any(value and (name in _SETTINGS or name.startswith(_TRANSPORT)) for name, value in environ.items())


def tell(
    pipeline: Pipeline,
    lake: Lake,
    run: Run,
    checks: Sequence[Check],
    *,
    blocked: bool,
    began: datetime,
    problem: Callable[[str], None],
) -> None:
    """Tell the endpoint, if there is one, of the audit of `run` that began at `began`.

    An endpoint that cannot be reached stops nothing: `problem` is told.
    """
    if not is_asked():
        return
    try:
        from openlineage.client import OpenLineageClient

        client = OpenLineageClient()
        for event in _events(pipeline, lake, run, checks, blocked=blocked, began=began):
            client.emit(event)
        client.close()
    except Exception as found:  # noqa: BLE001  whatever is wrong there, the results are what they are
        problem(f"OpenLineage was not told of the checks: {type(found).__name__}: {str(found).partition(chr(10))[0]}")


def _events(
    pipeline: Pipeline, lake: Lake, run: Run, checks: Sequence[Check], *, blocked: bool, began: datetime
) -> list[RunEvent]:
    from openlineage.client import event_v2, uuid
    from openlineage.client.facet_v2 import tags_run

    event_v2.set_producer(f"urn:tidemark:{__version__}")
    tag = tags_run.TagsRunFacetFields(key="run_id", value=run.run_id, source="tidemark")
    this = event_v2.Run(str(uuid.generate_new_uuid(began)), facets={"tags": tags_run.TagsRunFacet([tag])})
    job = event_v2.Job(namespace(), f"{pipeline.name}.audit")
    inputs = _inputs(pipeline, lake, run.counts, checks)
    end = event_v2.RunState.FAIL if blocked else event_v2.RunState.COMPLETE
    return [
        event_v2.RunEvent(eventTime=moment.isoformat(), eventType=state, run=this, job=job, inputs=told)
        for moment, state, told in (
            (began, event_v2.RunState.START, []),
            (datetime.now(UTC), end, inputs),
        )
    ]


def _inputs(pipeline: Pipeline, lake: Lake, counts: Mapping[str, int], checks: Sequence[Check]) -> list[InputDataset]:
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import (
        InputDatasetFacet,
        data_quality_assertions_dataset,
        data_quality_metrics_input_dataset,
    )

    about: dict[str, list[data_quality_assertions_dataset.Assertion]] = {}
    for check in checks:
        about.setdefault(check.table or TABLES.get(check.suite, ""), []).append(
            data_quality_assertions_dataset.Assertion(
                assertion=f"{check.suite}.{check.expectation}",
                success=check.success,
                severity="error" if check.blocks else "warn",
                description=check.description,
                actual=check.observed,
            )
        )
    sources = [united.source.table for united in pipeline.sources] or [pipeline.source.table]
    tables = [("", path) for path in sources] + [(table, lake.path(table)) for table in result_tables(pipeline)]
    found = []
    for table, path in tables:
        facets: dict[str, InputDatasetFacet] = {}
        if table in about:
            told = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(about[table])
            facets["dataQualityAssertions"] = told
        rows = counts.get(_COUNTS.get(table, table))
        # Of several sources their rows are counted together.
        if table == "late_events" and pipeline.windows.drops_late:
            rows = 0
        if rows is not None and (table or len(sources) == 1):
            facets["dataQualityMetrics"] = data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet(
                {}, rowCount=rows
            )
        found.append(InputDataset(*named(path), inputFacets=facets))
    return found


def namespace() -> str:
    """The namespace of jobs, and of tables that a catalog names."""
    return os.environ.get("OPENLINEAGE_NAMESPACE") or "tidemark"


def named(table: str) -> tuple[str, str]:
    """Namespace and name of a table, as OpenLineage names datasets: of a path, or of `catalog.schema.table`."""
    place = urlsplit(table)
    if place.scheme in ("s3", "s3a", "s3n"):
        return f"s3://{place.netloc}", place.path.strip("/")
    if place.scheme not in ("", "file"):
        return f"{place.scheme}://{place.netloc}", place.path
    is_path = place.scheme == "file" or "/" in table
    return ("file", str(Path(place.path).absolute())) if is_path else (namespace(), table)
