from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import kinds
from tests.house.checkout import Checkout
from tests.house.conftest import Make
from tests.house.kinds import STRATEGY, TRIGGER, WINDOW, Kind

DECIDING = [
    (WINDOW, 'x = windows.kind == "session"'),
    (WINDOW, "x = pipeline.windows.kind != grid.SESSION"),
    (WINDOW, "x = spec.kind is WindowKind.SLIDING"),
    (WINDOW, "x = SESSION == kind"),
    (WINDOW, 'x = kind in {"tumbling", "sliding"}'),
    (WINDOW, 'x = windows.kind == "none"'),
    (WINDOW, 'KINDS = ("tumbling", "sliding", "session")'),
    (WINDOW, "SCANS = {WindowKind.SESSION: 1}"),
    (WINDOW, 'pattern = "tumbling|sliding"'),
    (WINDOW, 'raise ValueError(f"found {kind}, known: session, sliding, tumbling")'),
    (WINDOW, 'SESSION = "session"'),
    (WINDOW, "class WindowKind: pass"),
    (WINDOW, "class SlidingWindows: pass"),
    (WINDOW, "ASSIGNERS = {SlidingWindows: assign}"),
    (WINDOW, "ASSIGNERS[WindowKind.SESSION] = assign"),
    (WINDOW, "match windows:\n    case Session(gap_ms=gap): pass"),
    (WINDOW, "match windows.kind:\n    case WindowKind.SESSION: pass"),
    (WINDOW, 'match windows.kind:\n    case "session" | "sliding": pass'),
    (WINDOW, "x = isinstance(windows, Tumbling | Sliding)"),
    (TRIGGER, "x = trigger.kind is not TriggerKind.EVENT_TIME"),
    (TRIGGER, 'x = declared.trigger.kind.value != "event_time"'),
    (TRIGGER, "x = word == TriggerKind.COUNT.value"),
    (TRIGGER, "SUPPORTED = (TriggerKind.EVENT_TIME,)"),
    (STRATEGY, "x = mark.strategy in (Strategy.CUSTOM, Strategy.NONE)"),
    (STRATEGY, 'x = declared.strategy.value in {"custom", "time_lag"}'),
    (STRATEGY, 'x = strategy == "none"'),
    (STRATEGY, 'RULES = {"lag": (Strategy.TIME_LAG, "lag")}'),
]
NOT_DECIDING = [
    (WINDOW, "x = Windows(kind=WindowKind.SESSION)"),
    (WINDOW, 'kind: str = "tumbling"'),
    (WINDOW, 'x = strategy == "none"'),
    (WINDOW, 'x = run.kind == "arrivals"'),
    (WINDOW, '"""Law: tumbling, sliding or session windows."""'),
    (WINDOW, 'x = "the session of a key"'),
    (WINDOW, "x = trigger.kind is TriggerKind.COUNT"),
    (WINDOW, "x = Windows[0]"),
    (WINDOW, "def assign(windows: SlidingWindows) -> None: ..."),
    (TRIGGER, 'x = order == "event_time"'),
    (TRIGGER, 'COLUMNS = ("event_time", "arrival_time")'),
    (TRIGGER, 'x = column == "count"'),
    (STRATEGY, "strategy: Strategy = Strategy.MONOTONOUS"),
    (STRATEGY, 'x = windows.kind == "none"'),
    (STRATEGY, 'choice = make(Strategy, default="custom")'),
]


@pytest.mark.parametrize(("kind", "source"), DECIDING)
def test_a_file_decides_on_a_kind(make: Make, kind: Kind, source: str) -> None:
    house = make({"spark_jobs/a.py": source, "spark_jobs/b.py": "", "tests/test_a.py": source})
    assert {place.path for place in kinds.decisions(house, kind)} == {"spark_jobs/a.py"}


@pytest.mark.parametrize(("kind", "source"), NOT_DECIDING)
def test_a_file_does_not_decide_on_a_kind(make: Make, kind: Kind, source: str) -> None:
    assert list(kinds.decisions(make({"spark_jobs/a.py": source}), kind)) == []


PREDICATES = """
def are_sessions(pipeline) -> bool:
    return pipeline.windows.kind == "session"

def resumes(pipeline) -> bool:
    return pipeline.windows.kind == "session" and pipeline.is_resumed

class Windows:
    @property
    def is_sliding(self) -> bool:
        return self.kind == "sliding"
"""


def test_callers_of_a_predicate_of_one_comparison_count_apart(make: Make) -> None:
    house = make({
        "spark_jobs/windows.py": PREDICATES,
        "spark_jobs/by_module.py": "from spark_jobs import windows as grid\nx = grid.are_sessions(p)",
        "spark_jobs/by_name.py": "from spark_jobs.windows import are_sessions\nx = are_sessions(p)",
        "spark_jobs/by_property.py": "x = spec.is_sliding",
        "spark_jobs/both_ways.py": 'x = spec.is_sliding or spec.kind == "session"',
        "spark_jobs/by_another.py": "from spark_jobs import windows\nx = windows.resumes(p)",
        "spark_jobs/of_another.py": "from spark_jobs import gaps as windows\nx = windows.are_sessions(p)",
    })  # fmt: skip
    callers = {place.path for place in kinds.callers(house, WINDOW)}
    assert callers == {"spark_jobs/by_module.py", "spark_jobs/by_name.py", "spark_jobs/by_property.py"}


def test_a_table_counts_where_it_is_named_and_where_tables_are_listed(make: Make) -> None:
    house = make({
        "spark_jobs/named.py": 'stage(rows, "panes")',
        "spark_jobs/member.py": "stage(rows, Table.LATE_EVENTS)",
        "spark_jobs/constant.py": "from spark_jobs.published_tables import PANES\nstage(rows, PANES)",
        "spark_jobs/listed.py": 'TABLES_OF_A_JOIN = ("pairs", "late_events")',
        "spark_jobs/mapped.py": 'STATISTICS = {"panes": 1, "watermarks": 2}',
        "spark_jobs/none.py": '"""Writes panes."""\nx = "panes of a window"\npanes.panes()',
    })  # fmt: skip
    names = {place.path for place in kinds.table_names(house)}
    assert names == {f"spark_jobs/{name}.py" for name in ("constant", "listed", "mapped", "member", "named")}
    assert {place.path for place in kinds.table_lists(house)} == {"spark_jobs/listed.py", "spark_jobs/mapped.py"}


def test_a_new_table_needs_an_entry_in_at_most_five_files() -> None:
    house = Checkout(Path(__file__).parents[2])
    assert len({place.path for place in kinds.table_lists(house)}) <= 5
