"""Lineage: the results of a run's checks are sent to an OpenLineage endpoint, if the environment names one.

An audit is a run of the job `<pipeline>.audit`. It ends as COMPLETE, or as FAIL if its checks block. Its inputs are the
source and the staged tables of the run, under their published names. Each has the number of its rows and the assertions
about it. Rows of examples stay in the lake.

OpenLineage's configuration defines the endpoint: `OPENLINEAGE_URL`, `OPENLINEAGE_CONFIG` or `OPENLINEAGE__TRANSPORT`.
The client is imported only if one of these is set.
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
from spark_jobs.pipeline.environment import hide_values
from spark_jobs.tables.lake import Lake, result_tables

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, RunEvent

    from expectations import Check
    from spark_jobs.pipeline.model import Pipeline
    from spark_jobs.tables.ledger import Run

# The count of a run that equals the number of rows of each table and of the source.
_COUNTS = {"": "rows_read", **{table.name: table.counted_as for table in published_tables.ALL if table.counted_as}}
_SETTINGS = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
_TRANSPORT = "OPENLINEAGE__TRANSPORT"


def is_configured(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment names an endpoint, and does not disable it."""
    if environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return False
    return any(value and (name in _SETTINGS or name.startswith(_TRANSPORT)) for name, value in environ.items())


def emit_audit(
    pipeline: Pipeline,
    lake: Lake,
    run: Run,
    checks: Sequence[Check],
    *,
    blocked: bool,
    began: datetime,
    problem: Callable[[str], None],
) -> None:
    """Send the audit of `run` that began at `began` to the endpoint, if the environment names one.

    An endpoint that cannot be reached does not fail the run: `problem` is called with the reason.
    """
    if not is_configured():
        return
    try:
        from openlineage.client import OpenLineageClient

        client = OpenLineageClient()
        for event in _events(pipeline, lake, run, checks, blocked=blocked, began=began):
            client.emit(event)
        client.close()
    except Exception as error:  # noqa: BLE001  no failure of the endpoint may fail the run
        reason = str(error).partition(chr(10))[0]
        problem(f"OpenLineage did not receive the checks: {type(error).__name__}: {reason}")


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
        event_v2.RunEvent(eventTime=moment.isoformat(), eventType=state, run=this, job=job, inputs=datasets)
        for moment, state, datasets in (
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
        about.setdefault(check.table or "", []).append(
            data_quality_assertions_dataset.Assertion(
                assertion=f"{check.suite}.{check.expectation}",
                success=check.success,
                severity="error" if check.blocks else "warn",
                description=check.description,
                actual=check.observed,
            )
        )
    sources = [united.source.table for united in pipeline.sources] or [pipeline.source.table]
    tables = [("", hide_values(path)) for path in sources] + [
        (table, lake.path(table)) for table in result_tables(pipeline)
    ]
    datasets = []
    for table, path in tables:
        facets: dict[str, InputDatasetFacet] = {}
        if table in about:
            assertions = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(about[table])
            facets["dataQualityAssertions"] = assertions
        rows = counts.get(_COUNTS.get(table, table))
        # The rows of several sources are counted together.
        if table == "late_events" and pipeline.windows.drops_late:
            rows = 0
        if rows is not None and (table or len(sources) == 1):
            facets["dataQualityMetrics"] = data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet(
                {}, rowCount=rows
            )
        datasets.append(InputDataset(*named(path), inputFacets=facets))
    return datasets


def namespace() -> str:
    """Return the namespace of jobs and of tables in a catalog."""
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
