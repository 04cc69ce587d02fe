"""Corruptions of the run ids of a whole run."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import on
from tests.expectations.corruptions.selections import late_event_with_result, lone
from tests.support.generated_run import Rows

# The run.


@on("readings", "run.every_row_is_of_this_run", why="the pane is another run's")
def a_pane_of_another_run(rows: Rows) -> None:
    lone(rows)["run_id"] = "r2"


@on("readings", "run.every_row_is_of_this_run", why="the late row is nobody's")
def a_late_event_of_no_run(rows: Rows) -> None:
    late_event_with_result(rows)["run_id"] = None
