"""Record Flink's answers to the drawings: write their scenarios, then take the answers in.

    python -m tests.worked.record scenarios IN.jsonl            the scenario of each drawing whose answer is Flink's
    python -m tests.worked.record answers IN.jsonl OUT.jsonl    Flink's answers to them, as recorded in `tests/vectors`

The second command also redraws each drawing: its watermarks and its last column become Flink's.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark_jobs.cases.drawing import Drawing, load, write
from tests.worked.flink import ANSWERS, answered, scenario

DRAWINGS = Path(__file__).parent / "drawings"

_KEPT = ("mode", "watermarks", "panes", "late", "unassigned", "pairs", "late_left", "late_right")


def of_flink() -> list[Drawing]:
    """Give the drawings whose answer is Flink's."""
    return [drawing for drawing in load(DRAWINGS) if drawing.answer == "flink"]


def write_scenarios(path: Path) -> None:
    """Write what Flink is to be run on, a line a drawing."""
    path.write_text("".join(json.dumps(scenario(drawing)) + "\n" for drawing in of_flink()))


def take_answers(scenarios: Path, results: Path) -> None:
    """Record Flink's answers and redraw the drawings. Raises ValueError for an answer that is an error."""
    declared, answers = _by_id(scenarios), _by_id(results)
    recorded = []
    for drawing in of_flink():
        answer = answers[drawing.name]
        if "error" in answer:
            raise ValueError(f"{drawing.name}: Flink answers {answer['error']}")
        flink_answer = {name: answer[name] for name in _KEPT if name in answer}
        recorded.append({"id": drawing.name, "scenario": declared[drawing.name], "answer": flink_answer})
        (DRAWINGS / f"{drawing.name}.yaml").write_text(write(answered(drawing, flink_answer)))
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in recorded)
    ANSWERS.write_bytes(gzip.compress(text.encode(), mtime=0))


def _by_id(path: Path) -> dict[str, dict[str, Any]]:
    return {line["id"]: line for line in map(json.loads, path.read_text().splitlines())}


if __name__ == "__main__":
    commands: dict[tuple[str, int], Callable[..., None]] = {
        ("scenarios", 1): write_scenarios,
        ("answers", 2): take_answers,
    }
    command = commands.get((sys.argv[1] if len(sys.argv) > 1 else "", len(sys.argv) - 2))
    if command is None:
        sys.exit(__doc__)
    command(*map(Path, sys.argv[2:]))
