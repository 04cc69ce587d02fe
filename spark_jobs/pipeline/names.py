"""A name is what a column of the result tables is called; key and aggregate columns keep the names declared for them.

Law: no declared name equals another name or a fixed column of the tables, in any case of letters. (Spark does not
distinguish `Flights` from `flights`.) None begins with `__tm`, and Delta can store each.
"""

from __future__ import annotations

import keyword
import re

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.published_tables import COMPLETE_RESULTS, PANES, WINDOW_RESULTS

#: The columns of `panes` and `window_results` besides the declared columns; `is_retraction` is no reserved name.
RESULT_COLUMNS = frozenset((*PANES.names, *WINDOW_RESULTS.names)) - {"is_retraction"}
#: The columns of a firing, and of the run.
FIRING_COLUMNS = RESULT_COLUMNS - {"row_count", "pane_count", "too_late_count", "last_fired_at"}
#: The columns of `complete_results` besides `RESULT_COLUMNS`.
COMPLETE_COLUMNS = frozenset(COMPLETE_RESULTS.names) - RESULT_COLUMNS
INTERNAL_PREFIX = "__tm"

_UNSTORABLE = re.compile(r"[ ,;{}()\n\t=.`]")


def source_column(name: str) -> str:
    """Accept a column of the source. Raises RefusedError."""
    if name.lower().startswith(INTERNAL_PREFIX):
        raise RefusedError(f"names that begin with {INTERNAL_PREFIX} are Tidemark's own")
    return name


def result_column(name: str) -> str:
    """Accept a column of the results. Raises RefusedError."""
    if not name.strip():
        raise RefusedError("a column needs a name")
    if mark := _UNSTORABLE.search(name):
        raise RefusedError(f"a column name holds no {mark[0]!r}; use letters, digits and _")
    if name.lower() in RESULT_COLUMNS:
        raise RefusedError(f"the result tables have a column {name.lower()} already; use another name")
    return source_column(name)


def argument(name: str) -> str:
    """Accept the name of an argument of a Python class. Raises RefusedError."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise RefusedError("an argument is named by letters, digits and _")
    return name
