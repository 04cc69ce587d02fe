"""The measures of structure: wirings, predicates, comparisons, layers, sizes, and modules without a test."""

from __future__ import annotations

from collections.abc import Iterator

from tests.house import comparisons, layers, predicates, sizes, untested, wirings
from tests.house.checkout import Place
from tests.house.conftest import Make


def paths(places: Iterator[Place]) -> list[str]:
    return sorted({place.path for place in places})


WIRING = """
from spark_jobs.replay import late_events, panes, sessions, triggers
def write(self, rows):
    sessions.components(rows)
    triggers.panes(rows)
    late_events.late_rows(rows)
    panes.window_results(rows)
"""


def test_a_module_wires_the_engine_by_four_stages_or_by_its_base_class(make: Make) -> None:
    house = make({
        "spark_jobs/jobs/four.py": WIRING,
        "spark_jobs/jobs/three.py": WIRING.replace("triggers.panes", "triggers.other"),
        "spark_jobs/jobs/of_self.py": WIRING.replace("triggers.panes", "self.panes"),
        "spark_jobs/jobs/derived.py": "from spark_jobs.jobs.four import Engine\nclass Grouped(Engine): ...",
        "spark_jobs/jobs/derived_elsewhere.py": "from spark_jobs.jobs.three import Engine\nclass Grouped(Engine): ...",
    })  # fmt: skip
    assert paths(wirings.wirings(house)) == ["spark_jobs/jobs/derived.py", "spark_jobs/jobs/four.py"]


def test_callers_of_six_functions_of_replay_count_whatever_their_names(make: Make) -> None:
    names = [f"step_{n}" for n in range(6)]
    stages = "".join(f"def {name}(rows) -> DataFrame: ...\n" for name in names)
    calls = "from spark_jobs.replay import stages\n" + "".join(f"stages.{name}(1)\n" for name in names)
    house = make({
        "spark_jobs/replay/stages.py": stages,
        "spark_jobs/replay/own.py": calls,
        "spark_jobs/jobs/six.py": calls,
        "spark_jobs/jobs/five.py": calls.replace("stages.step_5(1)", ""),
    })  # fmt: skip
    assert paths(wirings.callers_of_frames(house)) == ["spark_jobs/jobs/six.py"]


def test_a_question_about_a_pipeline_is_defined_again_by_name_or_by_its_expression(make: Make) -> None:
    house = make({
        "spark_jobs/a.py": 'def overlap(windows: Windows) -> bool:\n    return windows.kind == "sliding"',
        "spark_jobs/b.py": 'def is_sliding(pipeline: Pipeline) -> bool:\n    return pipeline.windows.kind == "sliding"',
        "spark_jobs/c.py": "def _discards(pipeline: Pipeline) -> bool:\n    x = 1\n    return x == 2",
        "spark_jobs/d.py": "def discards(pipeline: Pipeline) -> bool:\n    return False",
        "spark_jobs/e.py": "def retracts(pipeline: Pipeline) -> bool:\n    return pipeline.y",
        "spark_jobs/f.py": "def discards(rows: list) -> bool:\n    return False",
    })  # fmt: skip
    assert paths(predicates.defined_again(house)) == [f"spark_jobs/{name}.py" for name in "abcd"]
    assert paths(predicates.predicates(house)) == [f"spark_jobs/{name}.py" for name in "abcde"]


def test_comparisons_with_the_string_of_an_enum_value(make: Make) -> None:
    house = make({
        "spark_jobs/model.py": 'class Mode(StrEnum):\n    COMPLETE = "complete"\nclass Run:\n    mode: Mode',
        "spark_jobs/by_value.py": 'x = replay.mode.value == "complete"',
        "spark_jobs/by_field.py": 'x = run.mode in {"complete"}',
        "spark_jobs/by_case.py": 'match spec.kind:\n    case "session": pass',
        "spark_jobs/by_key.py": 'x = facts.value("windows.kind") == "session"',
        "spark_jobs/by_member.py": "x = run.mode is Mode.COMPLETE",
        "spark_jobs/other_text.py": 'x = replay.mode.value == "other"',
        "spark_jobs/other_side.py": 'x = title == "complete"',
    })  # fmt: skip
    by_string = [f"spark_jobs/{name}.py" for name in ("by_case", "by_field", "by_key", "by_value")]
    assert paths(comparisons.compared_as_strings(house)) == by_string


def test_imports_for_types_from_an_upper_layer(make: Make) -> None:
    contract = (
        '[[tool.importlinter.contracts]]\nname = "x"\ntype = "layers"\nlayers = ["a.jobs", "a.replay | a.tables"]\n'
    )
    house = make({
        "pyproject.toml": contract,
        "a/replay.py": "if TYPE_CHECKING:\n    from a.jobs.run import Run",
        "a/tables.py": "if TYPE_CHECKING:\n    from a.replay import Replay",
        "a/jobs.py": "if TYPE_CHECKING:\n    from a.replay import Replay",
        "a/free.py": "if TYPE_CHECKING:\n    from a.jobs import Run",
    })  # fmt: skip
    assert paths(layers.upward_imports(house)) == ["a/replay.py"]


def test_long_functions_and_files(make: Make) -> None:
    lines = "    x = 1\n" * (sizes.LONGEST_FUNCTION - 1)
    house = make({
        "spark_jobs/long.py": f"def f():\n{lines}    x = 1\n",
        "spark_jobs/short.py": f"@cache\ndef f():\n{lines}",
        "spark_jobs/long_file.py": "x = 1\n" * (sizes.LONGEST_FILE + 1),
        "spark_jobs/short_file.py": "x = 1\n" * sizes.LONGEST_FILE,
    })  # fmt: skip
    assert paths(sizes.long_functions(house)) == ["spark_jobs/long.py"]
    assert paths(sizes.long_files(house)) == ["spark_jobs/long_file.py"]


def test_copies_of_the_epoch(make: Make) -> None:
    house = make({"spark_jobs/a.py": "x = datetime(1970, 1, 1)", "spark_jobs/b.py": "x = datetime(1971, 1, 1)"})
    assert paths(sizes.copies_of_the_epoch(house)) == ["spark_jobs/a.py"]


def test_imports_between_test_modules(make: Make) -> None:
    house = make({
        "tests/spark/test_a.py": "from tests.spark.test_b import publish",
        "tests/spark/test_c.py": "from tests.spark import test_b",
        "tests/spark/test_d.py": "from tests.spark.streams import publish",
        "spark_jobs/e.py": "from tests.spark.test_b import publish",
    })  # fmt: skip
    assert paths(sizes.imports_between_tests(house)) == ["tests/spark/test_a.py", "tests/spark/test_c.py"]


def test_modules_without_a_test_of_their_name(make: Make) -> None:
    house = make({
        "spark_jobs/replay/sessions/scan.py": "",
        "spark_jobs/replay/merge.py": "",
        "spark_jobs/replay/alone.py": "",
        "spark_jobs/replay/__init__.py": "",
        "spark_jobs/session.py": "",
        "plugins/tidemark_airflow/alerts.py": "",
        "expectations/windows.py": "",
        "tests/unit/replay/sessions/test_scan_order.py": "",
        "tests/spark/test_merge.py": "",
        "tests/test_session.py": "",
        "tests/spark/test_alonely.py": "",
        "tests/airflow/test_alerts.py": "",
        "tests/unit/expectations/test_windows.py": "",
    })  # fmt: skip
    assert paths(untested.without_mirrored_test(house)) == ["spark_jobs/replay/alone.py", "spark_jobs/replay/merge.py"]
    assert paths(untested.without_any_test(house)) == ["spark_jobs/replay/alone.py"]
