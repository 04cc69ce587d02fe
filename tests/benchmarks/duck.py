"""DuckDB's way: the same windows or pairs as a plain query over the same Parquet files, without Spark and without Java.

    .tidemark/bench-env/bin/python -m tests.benchmarks.duck --events TABLE --shape SHAPE --out FOLDER --result FILE

It has the memory of the others, and every core. Like plain Spark it knows no arrival order: no row is late.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from time import monotonic

import duckdb

from tests.benchmarks.shapes import GAP_MS, LONG_SIZE_MS, SECOND_SQL, SIZE_MS, SLIDE_MS, WITHIN_MS, Shape

_AGGREGATES = "count(*) as events, sum(value) as total, avg(value) as mean, max(value) as highest"
_EVENTS = "(select *, epoch_us(event_time) // 1000 as ms from read_parquet($files))"

_TUMBLING = f"""
    select key, ms - ms % {SIZE_MS} as start_ms, start_ms + {SIZE_MS} as end_ms, {_AGGREGATES}
    from {_EVENTS} group by all
"""
_SLIDING = f"""
    with slides as (select key, ms - ms % {SLIDE_MS} as slide_ms, {_AGGREGATES} from {_EVENTS} group by all)
    select key, slide_ms - before.ms as start_ms, start_ms + {LONG_SIZE_MS} as end_ms, sum(events) as events,
        sum(total) as total, sum(total) / sum(events) as mean, max(highest) as highest
    from slides, range(0, {LONG_SIZE_MS}, {SLIDE_MS}) as before(ms) group by key, start_ms
"""
_SESSION = f"""
    with rows as (
        select *, ms - lag(ms, 1, ms) over (partition by key order by ms) > {GAP_MS} as is_first from {_EVENTS}
    ), numbered as (
        select *, count_if(is_first) over (partition by key order by ms) as number from rows
    )
    select key, min(ms) as start_ms, max(ms) + {GAP_MS} as end_ms, {_AGGREGATES} from numbered group by key, number
"""
# A first row looks into its own minute and into the next.
_JOIN = f"""
    with rows as (select key, event_id, ms, ms // {WITHIN_MS} as minute, {SECOND_SQL} as is_second from {_EVENTS}),
    first as (select key, event_id, ms, unnest([minute, minute + 1]) as minute from rows where not is_second)
    select key, first.event_id as first_id, second.event_id as second_id
    from first join (from rows where is_second) as second using (key, minute)
    where second.ms between first.ms and first.ms + {WITHIN_MS}
"""
_QUERIES = {Shape.TUMBLING: _TUMBLING, Shape.SLIDING: _SLIDING, Shape.SESSION: _SESSION, Shape.JOIN: _JOIN}


def write(events: Path, out: Path, shape: Shape) -> None:
    """Write the results of a shape to one Parquet file in `out`."""
    out.mkdir(parents=True)
    memory = os.environ.get("TIDEMARK_DRIVER_MEMORY") or "4g"
    with duckdb.connect(config={"memory_limit": f"{memory.rstrip('gG')}GiB", "temp_directory": str(out)}) as database:
        query = f"copy ({_QUERIES[shape]}) to '{out / 'results.parquet'}' (format parquet)"
        database.execute(query, {"files": str(events / "*.parquet")})


def main() -> None:
    """Do the work that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("events", "out", "result"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--shape", type=Shape, required=True)
    options = parser.parse_args()
    began = monotonic()
    write(options.events, options.out, options.shape)
    result = {"work_seconds": monotonic() - began, "counts": {}, "steps": {}}
    options.result.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
