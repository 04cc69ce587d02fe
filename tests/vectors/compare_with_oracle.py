"""Compare the reference with Flink on any number of scenarios: compare_with_oracle.py SCENARIOS RESULTS

Both are JSON lines as the Flink oracle reads and writes them (gzipped if the name ends in .gz). Scenarios that need
more than the reference has are left out and counted. Exit code 1 on a difference.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.reference import replay
from tests.vectors import as_of_joins, joins
from tests.vectors.as_of_joins import AsOfScenario, load_as_of_joins
from tests.vectors.joins import JoinScenario, load_joins, pairs_of
from tests.vectors.outcomes import calendar_of, late_of, panes_of, unassigned_of
from tests.vectors.scenarios import Scenario, is_in_reference, read


def differs(scenario: Scenario) -> list[str]:
    """Name the parts of the answer that are not Flink's."""
    outcome = replay(scenario.rows, scenario.pipeline, until=scenario.until)
    parts = {
        "panes": panes_of(outcome, scenario.shown_clock_us) == scenario.panes,
        "late rows": late_of(outcome) == scenario.late,
        "unassigned rows": unassigned_of(outcome) == scenario.unassigned,
        "calendar": calendar_of(outcome, scenario.shown_clock_us) == scenario.calendar,
    }
    return [name for name, is_same in parts.items() if not is_same]


def join_differs(scenario: JoinScenario) -> list[str]:
    """Name the parts of a join's answer that are not Flink's."""
    joined = scenario.joined()
    parts = {
        "pairs": pairs_of(joined) == scenario.pairs,
        "late left rows": joins.late_of(joined, Side.LEFT) == scenario.recorded["late_left"],
        "late right rows": joins.late_of(joined, Side.RIGHT) == scenario.recorded["late_right"],
        "watermarks": [(arrived - 1, mark) for arrived, mark in joined.watermarks] == scenario.watermarks,
    }
    return [name for name, is_same in parts.items() if not is_same]


def as_of_differs(scenario: AsOfScenario) -> list[str]:
    """Name the parts of an as-of join's answer that are not Flink's."""
    versioned = scenario.versioned()
    parts = {
        "rows": as_of_joins.matches_of(versioned, scenario.kind) == scenario.matches,
        "watermarks": [(arrived - 1, mark) for arrived, mark in versioned.watermarks] == scenario.watermarks,
    }
    return [name for name, is_same in parts.items() if not is_same]


def main(scenarios: Path, results: Path) -> int:
    """Print what differs and how much was compared."""
    everything = read(scenarios, results)
    compared = [scenario for scenario in everything if is_in_reference(scenario.declared)]
    joined, versioned = load_joins(scenarios, results), load_as_of_joins(scenarios, results)
    different = {scenario.id: differences for scenario in compared if (differences := differs(scenario))}
    different |= {scenario.id: differences for scenario in joined if (differences := join_differs(scenario))}
    different |= {scenario.id: differences for scenario in versioned if (differences := as_of_differs(scenario))}
    for name, differences in different.items():
        print(f"{name}: other {', '.join(differences)}")
    kinds = Counter[str](scenario.pipeline.windows.kind for scenario in compared)
    kinds += Counter({"join": len(joined), "as-of join": len(versioned)})
    print(", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items())))
    panes, late = sum(len(s.panes) for s in compared), sum(len(s.late) for s in compared)
    pairs = sum(len(s.pairs) for s in joined)
    print(f"{kinds.total()} compared ({panes} panes, {late} late rows, {pairs} pairs): {len(different)} differ")
    print(f"{len(everything) - kinds.total()} left out")
    return 1 if different else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
