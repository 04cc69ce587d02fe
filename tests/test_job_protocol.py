"""The protocol of jobs: what a result file has, and that no other module spells a name of the protocol."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import spark_jobs
from spark_jobs.job_protocol import (
    COUNT_ORDER,
    PROGRESS_MARK,
    STAGED_SIZES,
    ExitCode,
    Option,
    ProtocolError,
    StepName,
    StepResult,
    StepState,
    add_counts,
    in_reading_order,
)
from spark_jobs.pipeline import published_tables
from spark_jobs.tables import exchange

ROOT = Path(spark_jobs.__file__).parents[1]
RESULT = {
    "step": "replay",
    "run_id": "r0123456789abcde",
    "pipeline": "sales",
    "state": "done",
    "message": "3 windows",
    "counts": {"rows_read": 12_000},
    "checks": {"passed": 3, "failed": 0},
    "versions": {"panes": 4},
    "report": None,
    "error": None,
    "seconds": 1.5,
    "slices": ["slice-0-of-2"],
    "code": None,
    "following": [],
    "figures": {"seconds": 1.25, "rows_read": 12_000.0},
    "exit_code": 0,
}
FOLLOWING = {**RESULT, "step": "audit", "state": "blocked", "error": "1 check failed"}


def test_an_answer_has_these_keys_and_is_read_as_it_was_written(tmp_path: Path) -> None:
    content = {**RESULT, "following": [FOLLOWING]}
    result = StepResult.from_json(content)
    assert result.to_json() == content
    assert result.following == (StepResult.from_json(FOLLOWING),)
    file = tmp_path / "of" / "a" / "job" / "RESULT.json"
    exchange.write_answer(result, str(file))
    assert json.loads(file.read_text(encoding="utf-8")) == content
    assert exchange.read_answer(str(file)) == result
    assert [path.name for path in file.parent.iterdir()] == ["RESULT.json"]


def test_keys_that_are_absent_are_empty_and_unknown_keys_are_ignored() -> None:
    result = StepResult.from_json({"state": "asks", "task_seconds": 3, "counts": None})
    assert result == StepResult("", "", "", StepState.NEEDS_APPROVAL, "")


@pytest.mark.parametrize("content", [None, [], "done", {}, {"state": "fine"}, {"state": None}, {"state": ["done"]}])
def test_what_has_no_known_state_is_no_result(content: object, tmp_path: Path) -> None:
    with pytest.raises(ProtocolError):
        StepResult.from_json(content)
    file = tmp_path / "RESULT.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    assert exchange.read_answer(str(file)) is None


def test_a_file_that_cannot_be_read_is_no_answer(tmp_path: Path) -> None:
    assert exchange.read_answer(str(tmp_path / "nowhere.json")) is None
    (tmp_path / "torn.json").write_text('{"state": "do', encoding="utf-8")
    assert exchange.read_answer(str(tmp_path / "torn.json")) is None


def test_a_failure_has_its_first_line_as_message() -> None:
    failed = StepResult.failed("audit", "1 of 3 checks failed\n  panes: gap", StepState.BLOCKED, pipeline="sales")
    assert (failed.message, failed.error) == ("1 of 3 checks failed", "1 of 3 checks failed\n  panes: gap")
    assert StepResult.failed("audit", "").message == ""


def test_counts_of_several_steps_are_merged_and_the_last_wins() -> None:
    first, second = (
        StepResult(step, "r", "p", StepState.DONE, "", counts)
        for step, counts in (("replay", {"panes": 1, "late": 2}), ("audit", {"late": 3}))
    )
    assert add_counts([first, second]) == {"panes": 1, "late": 3}


def test_counts_are_shown_from_changes_and_the_rows_read_to_the_panes_and_then_all_others() -> None:
    fates = [
        "rows_read",
        "invalid",
        "filtered",
        "quarantined",
        "duplicates",
        "unassigned",
        "on_time",
        "late",
        "too_late",
    ]
    of_changes = ["changed_rows", "changed_invalid", "affected_windows"]
    ordered = [*of_changes, *fates, "pairs", "windows", "panes", "early_panes", "late_panes"]
    assert list(COUNT_ORDER) == ordered
    assert in_reading_order(["joined", *reversed(ordered), "rows"]) == [*ordered, "joined", "rows"]
    assert in_reading_order({"panes": 1, "rows_read": 2}) == ["rows_read", "panes"]


def test_the_sizes_of_a_staged_run_are_counts_of_its_tables() -> None:
    assert STAGED_SIZES == ("pairs", "windows", "panes")
    assert set(STAGED_SIZES) <= {table.counted_as for table in published_tables.ALL}


def test_exit_codes_are_those_that_scripts_of_users_check() -> None:
    assert {code.name: code.value for code in ExitCode} == {"DONE": 0, "FAILED": 1, "WRONG_INPUT": 2, "BLOCKED": 3}


# Names of the protocol that are also words of something else, by the file or folder in which they stand as such.
_PRODUCT = ("spark_jobs", "plugins", "dags", "expectations", "docker")
_ELSEWHERE: dict[str, set[str]] = {
    # Keys of the checks' counts.
    "plugins/tidemark_airflow/jobs/assets.py": {"failed"},
    "plugins/tidemark_airflow/jobs/outcome.py": {"failed"},
    "plugins/tidemark_airflow/quality/trend.py": {"failed"},
    # A state of Airflow's DAG runs.
    "plugins/tidemark_airflow/quality/overview.py": {"failed"},
    # A tag of DAGs.
    "plugins/tidemark_airflow/dags/dags.py": {"repair"},
    # A state of Airflow's tasks, and a key of the checks' counts.
    "plugins/tidemark_airflow/embedded/summary.py": {"failed"},
    # Sections of a pipeline file.
    "spark_jobs/pipeline": {"replay", "repair"},
    "spark_jobs/cases/case_file.py": {"replay"},
    "spark_jobs/cases/drawn_part.py": {"replay"},
    # A key of the counts of `tidemark test`.
    "spark_jobs/cli/test_command.py": {"failed"},
    # A DAG's name.
    "plugins/tidemark_airflow/jobs/pipeline_files.py": {"accept"},
    # Names that a package exports, and a kind of page.
    "spark_jobs/replay/__init__.py": {"replay"},
    # A file of a user's project, which uses the command.
    "spark_jobs/cli/project/tests": {"replay"},
}
# The names of the table `watermarks` and of reports and slices are everywhere; `run` and `land` are plain words.
_WORDS = {*StepName, *StepState} - {StepName.WATERMARKS, StepName.REPORT, StepName.SLICE, StepName.RUN}


def _literals() -> Iterator[tuple[str, str]]:
    """The file and text of every string in the product's code, docstrings included."""
    for folder in _PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            file = str(path.relative_to(ROOT))
            if file != "spark_jobs/job_protocol.py":
                yield from (
                    (file, node.value)
                    for node in ast.walk(tree)
                    if isinstance(node, ast.Constant) and isinstance(node.value, str)
                )


def _other_words(file: str) -> set[str]:
    return _ELSEWHERE.get(file, set()) | _ELSEWHERE.get(str(Path(file).parent), set())


def test_no_other_module_spells_a_step_or_a_state() -> None:
    spelled = {(file, text) for file, text in _literals() if text in _WORDS}
    assert {(file, text) for file, text in spelled if text not in _other_words(file)} == set()


def test_no_other_module_spells_an_option_or_the_mark_of_progress() -> None:
    names = {*Option, PROGRESS_MARK}
    assert {(file, text) for file, text in _literals() if text.strip() in names} == set()


def test_no_other_module_numbers_exit_codes() -> None:
    """A module that has names for exit codes takes them from the protocol."""
    names = {f"{prefix}{code.name}" for code in ExitCode for prefix in ("", "_")}
    modules = set()
    for folder in _PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Tuple):
                    targets = {
                        name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
                    }
                    numbers = [leaf.value for leaf in ast.walk(node.value) if isinstance(leaf, ast.Constant)]
                    if targets & names and any(isinstance(number, int) for number in numbers):
                        modules.add(str(path.relative_to(ROOT)))
    assert modules == {"spark_jobs/job_protocol.py"}
