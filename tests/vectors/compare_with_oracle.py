"""Compare the reference with Flink on any number of scenarios: compare_with_oracle.py SCENARIOS RESULTS

Both are JSON lines as the Flink oracle reads and writes them (gzipped if the name ends in .gz). Scenarios that need
more than the reference has are left out and counted. Exit code 1 on a difference.
"""

from __future__ import annotations

import sys
from pathlib import Path

from spark_jobs.semantics.reference import replay
from tests.vectors.scenarios import Scenario, calendar_of, is_in_reference, late_of, panes_of, read, unassigned_of


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


def main(scenarios: Path, results: Path) -> int:
    """Print what differs and how much was compared."""
    everything = read(scenarios, results)
    compared = [scenario for scenario in everything if is_in_reference(scenario.declared)]
    different = {scenario.id: found for scenario in compared if (found := differs(scenario))}
    for name, found in different.items():
        print(f"{name}: other {', '.join(found)}")
    panes, late = sum(len(s.panes) for s in compared), sum(len(s.late) for s in compared)
    print(f"{len(compared)} compared ({panes} panes, {late} late rows): {len(different)} differ")
    print(f"{len(everything) - len(compared)} left out")
    return 1 if different else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
