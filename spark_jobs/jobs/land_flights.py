"""Land the real flights as the Delta table `<lake>/flights`, in the order in which they became known.

    land_flights.py --lake DIR [--result ADDRESS] [--variable NAME=VALUE ...]

A row is a scheduled departure. `departed_at` is event time, `landed_at` arrival time, `origin` the source partition;
`spark_jobs.flights.times` derives them. Cancelled flights have no event time.

A commit has the flights of one month of `landed_at` (UTC), sorted by it, in the order of months. So each version of the
table has the flights that were known at the end of a month. Each commit has a transaction id, so a landing that was
killed continues at its end. A complete landing is left unchanged, without starting Spark.

Exit codes: 0 done, 1 failed, 2 wrong input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import ExitCode, Option, StepName, StepResult, StepState
from spark_jobs.jobs import progress
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.options import add_exchange, set_variables
from spark_jobs.tables import commit_files, exchange
from spark_jobs.tables.objects import Objects

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import SparkSession

TABLE = "flights"
COMPLETE = "tidemark: all flights have landed"
_STEP = StepName.LAND
_PIECES = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Land the flights; returns the exit code."""
    options = _parser().parse_args(arguments)
    set_variables(options)
    began = monotonic()
    code, result = _land(options.lake)
    result = replace(result, seconds=round(monotonic() - began, 3))
    if options.result:
        exchange.write_answer(replace(result, exit_code=code), options.result)
    progress.to_stderr(_STEP, result.error or result.message)
    return code


def is_complete(table: str) -> bool:
    """Return whether the log of the table at the path `table` records that all flights have landed; without Spark.

    False also if this is unknown: a log whose old entries have been removed.
    """
    commits = commit_files.commits(Objects(table))
    return any(action.get("commitInfo", {}).get("userMetadata") == COMPLETE for commit in commits for action in commit)


def land(spark: SparkSession, table: str, flights: pd.DataFrame) -> int:
    """Append the months of `flights` (with times) that are not in the Delta table at `table` yet; returns their number.

    Raises InputError if another program has written the table.
    """
    from spark_jobs.tables.delta_transaction import Transaction

    months = list(_months(flights))
    missing = [m for m in months if not Transaction(spark, table).applied(_application(m[0]))]
    if len(missing) == len(months) and Transaction(spark, table).read_version >= 0:
        raise InputError(
            f"{table}: another program has written this table. Give another --lake, or remove the table",
            code=ErrorCode.FILES_NOT_LANDED,
        )
    # Rows are sent with their tasks, and Spark warns beyond 1 MB: so in pieces, then repartitioned to one file.
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", _PIECES)
    for month, rows in missing:
        progress.to_stderr(_STEP, f"{month}: {rows.num_rows:,} flights")
        (
            spark.createDataFrame(rows)
            .repartition(1)
            .sortWithinPartitions("landed_at", "flight_id")
            .write.format("delta")
            .mode("append")
            .option("txnAppId", _application(month))
            .option("txnVersion", 0)
            .option("userMetadata", COMPLETE if month == months[-1][0] else f"tidemark: flights known in {month}")
            .save(table)
        )
    return len(missing)


def _land(lake: str) -> tuple[ExitCode, StepResult]:
    from spark_jobs.flights.dataset import DatasetMissingError

    table = f"{lake.rstrip('/')}/{TABLE}"
    if is_complete(table):
        return ExitCode.DONE, _result(StepState.UNCHANGED, f"all flights are in {table}")
    try:
        return ExitCode.DONE, _landed(table)
    except (InputError, DatasetMissingError) as problem:
        return ExitCode.WRONG_INPUT, StepResult.failed(_STEP, str(problem))
    except Exception as problem:  # noqa: BLE001 - whatever happens, the result file has how it ended
        import traceback

        traceback.print_exc()
        first_line = str(problem).splitlines()[0] if str(problem) else repr(problem)
        return ExitCode.FAILED, StepResult.failed(_STEP, first_line)


def _landed(table: str) -> StepResult:
    from spark_jobs.flights import dataset, times
    from spark_jobs.session import open_session

    progress.to_stderr(_STEP, "reading the flights")
    flights = times.with_times(dataset.read_flights(), dataset.read_zones())
    commits = land(open_session("tidemark land flights"), table, flights)
    cancelled = int(flights["departed_at"].isna().sum())
    message = f"{len(flights):,} flights in {table}, {cancelled:,} of them cancelled; {commits} commits made"
    counts = {"flights": len(flights), "cancelled": cancelled, "commits": commits}
    return _result(StepState.DONE if commits else StepState.UNCHANGED, message, counts)


def _months(flights: pd.DataFrame) -> Iterator[tuple[str, pa.Table]]:
    """Yield the table's rows by month of `landed_at`, oldest month first."""
    import pandas as pd
    import pyarrow as pa

    schema = _schema()
    rows = flights.assign(flight_id=pd.RangeIndex(1, len(flights) + 1)).sort_values(["landed_at", "flight_id"])
    for month, landed in rows.groupby(rows["landed_at"].dt.strftime("%Y-%m")):
        yield str(month), pa.Table.from_pandas(landed, schema, preserve_index=False)


def _schema() -> pa.Schema:
    """Return the table's columns. `flight_id` is the number of the row in the data set's file, from 1."""
    import pyarrow as pa

    instant, minutes = pa.timestamp("us", tz="UTC"), pa.int32()
    return pa.schema(
        [
            ("flight_id", pa.int64()),
            ("carrier", pa.string()),
            ("flight", pa.int32()),
            ("tailnum", pa.string()),
            ("origin", pa.string()),
            ("dest", pa.string()),
            ("scheduled_at", instant),
            ("departed_at", instant),
            ("landed_at", instant),
            ("dep_delay", minutes),
            ("arr_delay", minutes),
            ("air_time", minutes),
            ("distance", pa.int32()),
        ]
    )


def _application(month: str) -> str:
    return f"tidemark/{_STEP}_{TABLE}/{month}"


def _result(state: StepState, message: str, counts: Mapping[str, int] | None = None) -> StepResult:
    return StepResult(_STEP, "", "", state, message, counts or {})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="land_flights.py", description=__doc__.splitlines()[0])
    parser.add_argument(Option.LAKE, required=True, help="the folder of all tables")
    add_exchange(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
