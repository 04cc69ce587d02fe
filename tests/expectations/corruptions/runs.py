"""Ways to spoil whose rows they are."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import lone, missing, on
from tests.support.generated_run import Rows

# The run.


@on("readings", "run.every_row_is_of_this_run", why="the pane is another run's")
def a_pane_of_another_run(rows: Rows) -> None:
    lone(rows)["run_id"] = "r2"


@on("readings", "run.every_row_is_of_this_run", why="the late row is nobody's")
def a_late_event_of_no_run(rows: Rows) -> None:
    missing(rows)["run_id"] = None
