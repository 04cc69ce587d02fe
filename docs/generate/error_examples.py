"""Examples of errors: each function makes the product raise one, without Spark.

A part that needs Spark, or differs by machine, is replaced by a fixed answer. The message is the product's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

from pyspark.errors import AnalysisException
from pyspark.sql import types as T

from expectations import Check, declared, ratios
from spark_jobs.flights import dataset, times
from spark_jobs.jobs.audit.audit import failure_message
from spark_jobs.jobs.errors import BlockedError
from spark_jobs.jobs.land import folder as landing_folder
from spark_jobs.jobs.options import parse_overrides
from spark_jobs.jobs.plan import arrival_slices, requested_windows
from spark_jobs.jobs.publish import publish, registration
from spark_jobs.pipeline import parse
from spark_jobs.pipeline.model import Expectation, Pipeline, Quality, TimeField
from spark_jobs.replay.rows import event_time
from spark_jobs.replay.supported import require_support
from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.semantics.watermark.custom import new_generator
from spark_jobs.tables import delta_log, leases, ledger, published, source
from spark_jobs.tables.catalog_names import CatalogNames
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.owners import Owner
from spark_jobs.tables.publishing import OvertakenError
from spark_jobs.tables.run import BACKFILL, Run
from tidemark_airflow.embedded.installation import Installation
from tidemark_airflow.jobs.pipeline_files import BrokenPipelinesError

_SPARK: Any = None
_FILE = "clicks.yaml"
_LAKE = Lake("/data/lake", "clicks")
_RUN_ID, _OTHER_RUN_ID = "r0123456789abcde", "rfedcba987654321"
_SINCE = datetime(2024, 9, 2, 6, tzinfo=UTC)
_JULY, _AUGUST = datetime(2024, 7, 1, tzinfo=UTC), datetime(2024, 8, 1, tzinfo=UTC)
_RUN = Run(_RUN_ID, "clicks", "0123456789abcdef", BACKFILL, 41, _JULY, _AUGUST, arrived_to=_AUGUST)
_CLICKS = """\
name: clicks
source: {table: lake/raw_clicks, event_time: happened_at, arrival_time: stored_at}
watermark: {out_of_orderness: 10 minutes}
windows: {size: 1 hour, key: [page], aggregates: {clicks: count(*)}}
"""
_BROKEN = _CLICKS.replace("10 minutes", "10").replace("windows:", "window:")
_JOIN = """\
name: orders
source: {table: lake/events, event_time: happened_at, arrival_time: stored_at}
watermark: {out_of_orderness: 10 minutes}
join: {key: [order_id], between: [0s, 1 hour], second_when: "kind = 'payment'"}
"""


_NAMED = f"{_CLICKS}publish_to: lakehouse.analytics\n"


def raised(example: Callable[[], object]) -> Exception:
    """Return the error that the example raises. Raises AssertionError if it raises none."""
    try:
        example()
    except Exception as error:  # noqa: BLE001  the error is the result
        return error
    raise AssertionError(f"{example} raised no error")


def broken_file() -> Pipeline:
    """Parse a file with two mistakes."""
    return parse(_BROKEN, origin=_FILE)


def wrong_option() -> Mapping[str, str]:
    """Read an override without a value."""
    return parse_overrides(["windows.size"])


def stale_run() -> None:
    """Publish a run behind another run that covers later arrivals."""
    later = replace(_RUN, run_id=_OTHER_RUN_ID, arrived_to=datetime(2024, 9, 1, tzinfo=UTC))
    arrival_slices.require_end(_LAKE, _RUN, later)


def blocked_run() -> None:
    """Block a run with a failed check."""
    late = ratios.late_ratios("late", "too_late", "rows", "belong to a window", "")
    (invariant,) = ratios.invariants(Quality(max_too_late_ratio=0.001), late)
    observed = "759 of 328,521 rows (0.231 %)"
    raise BlockedError(
        failure_message([Check("run", invariant.name, invariant.description, False, observed, None, "")]),
        run_id=_RUN_ID,
    )


def no_source() -> None:
    """Read the version of a table that does not exist."""
    with patch.object(delta_log, "version", return_value=None):
        source.pinned_version(_SPARK, "/data/lake/raw_clicks")


def no_catalog() -> None:
    """Name a catalog that Spark's settings do not define."""
    spark: Any = SimpleNamespace(conf=SimpleNamespace(getAll={}))
    CatalogNames(spark, _LAKE, "lakehouse.analytics").require(["panes"])


def taken_name() -> None:
    """Publish to a schema in which a name belongs to another table."""
    with (
        patch.object(CatalogNames, "_require_catalog"),
        patch.object(CatalogNames, "_places", return_value={"panes": "s3a://reports/clicks_panes"}),
    ):
        registration.require_names(_SPARK, parse(_NAMED, origin=_FILE), _LAKE)


def unregistered() -> None:
    """Register the tables of a published run in a catalog that refuses the user."""
    refusal = AnalysisException("User etl has no permission CREATE TABLE on schema analytics")
    with (
        patch.object(CatalogNames, "_require_catalog"),
        patch.object(CatalogNames, "_places", side_effect=refusal),
    ):
        registration.register(_SPARK, parse(_NAMED, origin=_FILE), _LAKE, _RUN)


def no_live_type() -> None:
    """Resolve an expectation whose type does not exist."""
    declared.resolve([Expectation("expect_column_values_to_be_betwixt", "panes")], {"panes": _SPARK})


def join_as_windows() -> None:
    """Replay a join as if it were windows."""
    require_support(parse(_JOIN, origin=_FILE))


def no_generator() -> None:
    """Make a generator of a package that is not installed."""
    new_generator("my_company.watermarks:DeviceClock", {"rows": 1000})


def time_without_unit() -> None:
    """Read an integer column as a time without a unit."""
    schema = T.StructType([T.StructField("value", T.LongType())])
    events: Any = SimpleNamespace(select=lambda _: SimpleNamespace(schema=schema))
    with patch("pyspark.sql.functions.expr"):
        event_time.micros(events, TimeField("happened_at"))


def nothing_published() -> None:
    """Read a pipeline that has published nothing."""
    with patch.object(ledger, "published", return_value=[]):
        published.read_published(_SPARK, _LAKE, "window_results")


def held_windows() -> None:
    """Work on windows that another process holds."""
    with (
        patch.object(leases, "Objects"),
        patch.object(
            leases,
            "_Registry",
            return_value=Mock(enter=Mock(return_value=leases.Obstacle(_other_lease(), "at work on"))),
        ),
        leases.acquire(_LAKE, _RUN_ID, Interval(_JULY, _AUGUST)),
    ):
        pass


def lost_lease() -> None:
    """Publish after another process has taken over the windows."""
    registry: Any = SimpleNamespace(read=lambda: SimpleNamespace(leases=(_other_lease(),)))
    own = leases.Lease(_RUN_ID, Interval(_JULY, _AUGUST), Owner("worker-2", "", 815, 0), _SINCE)
    leases.Tenure(own, waited=False, taken_over=(), _registry=registry).require()


def _other_lease() -> leases.Lease:
    return leases.Lease(_OTHER_RUN_ID, Interval(_JULY, _AUGUST), Owner("worker-1", "", 4711, 0), _SINCE)


def unknown_publisher() -> None:
    """Finish the publishing of a run that the ledger does not contain."""
    with (
        patch.object(ledger, "published", return_value=[]),
        patch.object(publish, "unended", return_value=_OTHER_RUN_ID),
        patch.object(ledger, "find", return_value=None),
    ):
        publish.settle(_SPARK, _LAKE)


def overtaken() -> None:
    """Publish while another run publishes."""
    raise OvertakenError("panes", _OTHER_RUN_ID)


def no_java() -> None:
    """Start Spark without a Java."""
    raise RuntimeSetupError.no_java(())


def no_data_set() -> None:
    """Read the flights without their package."""
    with patch.object(dataset, "find_spec", return_value=None):
        dataset.read_flights()


def unknown_zone() -> None:
    """Compute times for an airport without a time zone."""
    import pandas as pd

    times.with_times(pd.DataFrame({"dest": ["XXX"]}), {})


def wrong_port() -> Installation:
    """Configure a port that is no number."""
    return Installation.of({"TIDEMARK_AIRFLOW_PORT": "eighty"})


def broken_folder() -> None:
    """Load a folder with a broken pipeline file."""
    raise BrokenPipelinesError({Path("dags/pipelines/clicks.yaml"): str(raised(broken_file))})


def _file_with(before: str, after: str) -> Callable[[], Pipeline]:
    return lambda: parse(_CLICKS.replace(before, after), origin=_FILE, environ={"TIDEMARK_ALLOW_CODE": "no"})


def cut_window() -> None:
    """Request a part of time that begins inside a window."""
    requested_windows.require_windows(Interval(_JULY + timedelta(minutes=5), _AUGUST), parse(_CLICKS))


def future_arrivals() -> None:
    """Read arrivals that may still come."""
    arrival_slices.require_slices(parse(_CLICKS), datetime(2999, 1, 1, tzinfo=UTC))


def not_published() -> None:
    """Go back to a run that was not published."""
    with patch.object(ledger, "published", return_value=[]):
        publish.rollback(_SPARK, _LAKE, _RUN_ID)


def no_folder() -> None:
    """Land a folder that does not exist."""
    landing_folder.read_folder(Path("exports/orders"), None)


def no_jars() -> None:
    """Start Spark without the jars of Delta."""
    raise RuntimeSetupError.jars_missing("/opt/tidemark/jars", ["delta-spark_4.1_2.13-4.4.0.jar"])


#: Further examples, for codes that no example of a class has.
OF_CODES: tuple[Callable[[], object], ...] = (
    _file_with("name: clicks", "name: ["),
    _file_with("watermark:", "watermarks:"),
    _file_with("name: clicks\n", ""),
    _file_with("10 minutes", "10"),
    _file_with("size: 1 hour", "kind: tumbling, slide: 5 minutes, size: 1 hour"),
    _file_with("lake/raw_clicks", "'${CLICKS_TABLE}'"),
    _file_with("{out_of_orderness: 10 minutes}", "{strategy: custom, class: 'my_company.watermarks:DeviceClock'}"),
    cut_window,
    future_arrivals,
    not_published,
    no_folder,
    no_jars,
    taken_name,
)
