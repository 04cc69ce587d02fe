"""Each message that the product raises has a code, and a code has a cause and a cure."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from docs.generate import error_messages
from docs.generate.error_messages import messages
from spark_jobs import error_codes
from spark_jobs.cli import new_project
from spark_jobs.code_of_error import OF_CLASSES, code_of
from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.advise.candidates import parse_durations
from spark_jobs.jobs.draft.draft import refuse_no_table, refuse_unwritable
from spark_jobs.jobs.errors import BlockedError, InputError, Misfit, StaleError, require_fit
from spark_jobs.jobs.land.folder import read_folder
from spark_jobs.jobs.options import parse_moment, parse_overrides
from spark_jobs.jobs.plan import check_source
from spark_jobs.jobs.plan.arrival_slices import require_slices
from spark_jobs.jobs.plan.requested_windows import require_windows
from spark_jobs.jobs.stage import stage
from spark_jobs.pipeline import PipelineError, load, parse
from spark_jobs.replay import TimeFieldError, UnsupportedPipelineError
from spark_jobs.semantics.watermark.custom import new_generator
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.source_tables import require_local

_JULY = datetime(2024, 7, 1, tzinfo=UTC)


def test_each_message_of_the_product_has_a_code() -> None:
    assert len(messages()) > 200
    assert [f"{message.place}: {message.template}" for message in messages() if message.code is None] == []


def test_a_message_without_a_code_is_not_overlooked() -> None:
    call = ast.parse("InputError(f'run {run_id} is lost')", mode="eval").body
    assert [code for _, code in error_messages._raised(call, "", "spark_jobs/jobs/step.py")] == [None]


@pytest.mark.parametrize(
    ("raises", "code"),
    [
        (lambda folder: parse_overrides(["windows.size"]), "TM201"),
        (lambda folder: parse_moment("yesterday"), "TM201"),
        (lambda folder: parse_durations("--bounds", "soon"), "TM201"),
        (lambda folder: require_windows(Interval(_JULY, _JULY), parse(_GOOD)), "TM202"),
        (lambda folder: require_windows(Interval(_JULY + timedelta(minutes=1)), parse(_GOOD)), "TM202"),
        (lambda folder: require_slices(parse(_GOOD), datetime(2999, 1, 1, tzinfo=UTC)), "TM204"),
        (lambda folder: require_local(str(folder / "no_table")), "TM301"),
        (lambda folder: refuse_no_table(str(folder / "no_table")), "TM301"),
        (lambda folder: new_generator("no_such_package:Clock", {}), "TM309"),
        (lambda folder: refuse_unwritable(folder, force=False), "TM702"),
        (lambda folder: read_folder(folder / "no_folder"), "TM703"),
        (new_project.write, "TM704"),
    ],
)
def test_an_error_has_the_code_of_its_cause(tmp_path: Path, raises: Callable[[Path], object], code: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"\w") as caught:
        raises(tmp_path)
    assert code_of(caught.value) == code


def test_a_class_has_a_code() -> None:
    assert code_of(StaleError("run: plan again")) is ErrorCode.PLAN_STALE
    assert code_of(BlockedError("1 failed", run_id="r1")) is ErrorCode.CHECKS_FAILED
    assert code_of(UnsupportedPipelineError("join: not supported")) is ErrorCode.NOT_SUPPORTED
    assert code_of(TimeFieldError("'at' is BIGINT")) is ErrorCode.TIME_OF_OTHER_TYPE
    assert [code_of(kind("any text")) for kind in OF_CLASSES] == list(OF_CLASSES.values())
    assert code_of(RuntimeError("--set: found 'x'")) is ErrorCode.UNEXPECTED


def test_an_error_without_a_code_has_that_of_the_error_that_it_replaces() -> None:
    error = RuntimeError("the run failed")
    error.__cause__ = InputError("--set: found", code=ErrorCode.OPTION_WRONG)
    assert code_of(error) is ErrorCode.OPTION_WRONG
    # Its own code is the first.
    stale = StaleError("plan again")
    stale.__cause__ = error
    assert code_of(stale) is ErrorCode.PLAN_STALE


def test_an_error_of_several_lines_has_the_code_of_the_first() -> None:
    lines = [Misfit("a", ErrorCode.COLUMN_UNKNOWN), Misfit("b", ErrorCode.SQL_REFUSED)]
    with pytest.raises(InputError, match=r"^a\nb$") as caught:
        require_fit([*lines, lines[0]])
    assert caught.value.code is ErrorCode.COLUMN_UNKNOWN
    require_fit([])


@pytest.mark.parametrize(
    ("condition", "message", "code"),
    [
        (
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
            "source.where: the source has no column 'x' (it has y)",
            ErrorCode.COLUMN_UNKNOWN,
        ),
        (
            "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
            "source.where: [DATATYPE_MISMATCH] Cannot resolve",
            ErrorCode.SQL_REFUSED,
        ),
    ],
)
def test_an_error_of_spark_has_the_code_of_its_condition(condition: str, message: str, code: ErrorCode) -> None:
    problem = Mock(__str__=Mock(return_value="[DATATYPE_MISMATCH] Cannot resolve\nmore"))
    problem.getCondition.return_value, problem.getMessageParameters.return_value = condition, {"objectName": "`x`"}
    assert check_source._refused("source.where", problem, Mock(columns=["y"])) == Misfit(message, code)


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        ("overflow.explanation", "TM314"),
        ("unreadable_files.deletion", "TM312"),
        ("unreadable_files.damage", "TM302"),
        ("", None),
    ],
)
def test_a_failure_of_staging_has_the_code_of_its_cause(
    monkeypatch: pytest.MonkeyPatch, cause: str, code: str | None
) -> None:
    for name in ("overflow.explanation", "unreadable_files.deletion", "unreadable_files.damage"):
        module, function = name.split(".")
        message = "what to do" if name == cause else None
        monkeypatch.setattr(getattr(stage, module), function, Mock(return_value=message))
    explained = stage._explained(Mock(), parse(_GOOD), Mock(), RuntimeError("any text"))
    assert (explained and explained.code) == code


_GOOD = """\
name: clicks
source: {table: lake/raw, event_time: at, arrival_time: stored}
watermark: {out_of_orderness: 10 minutes}
windows: {size: 1 hour, key: [page], aggregates: {clicks: count(*)}}
"""


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("name: clicks", "name: [", "TM101"),
        ("name: clicks", "nam: clicks", "TM102"),
        ("name: clicks\n", "", "TM103"),
        ("10 minutes", "10", "TM104"),
        ("size: 1 hour", "kind: tumbling, slide: 5 minutes, size: 1 hour", "TM105"),
        ("lake/raw", "'${NO_SUCH_VARIABLE}'", "TM106"),
        ("{out_of_orderness: 10 minutes}", "{strategy: custom, class: 'a:B'}", "TM107"),
    ],
)
def test_a_problem_of_a_file_has_its_code(before: str, after: str, code: str) -> None:
    assert before in _GOOD
    with pytest.raises(PipelineError) as caught:
        parse(_GOOD.replace(before, after), environ={"TIDEMARK_ALLOW_CODE": "no"})
    assert code_of(caught.value) == caught.value.problems[0].code == code


def test_a_file_that_does_not_exist_has_its_code(tmp_path: Path) -> None:
    with pytest.raises(PipelineError) as caught:
        load(tmp_path / "no.yaml")
    assert code_of(caught.value) is ErrorCode.FILE_UNREADABLE


def test_a_key_without_value_of_a_rule_is_missing() -> None:
    with pytest.raises(PipelineError) as caught:
        parse(_GOOD.replace("size: 1 hour, ", ""), environ={})
    assert caught.value.problems[0].code is ErrorCode.KEY_MISSING


def test_each_code_is_described() -> None:
    assert all(re.fullmatch(r"TM[1-79]\d\d", code) for code in ErrorCode)
    assert list(ErrorCode) == sorted(ErrorCode)
    for code in ErrorCode:
        assert code.exit_code in (1, 2, 3)
        assert code.cause.endswith(".")
        assert code.cure.endswith(".")
        assert not code.summary.endswith(".")


def test_codes_are_found_by_what_a_person_types() -> None:
    assert error_codes.find(" tm205 ") is ErrorCode.RUN_UNKNOWN
    assert error_codes.find("TM999") is None
    assert ErrorCode.RUN_UNKNOWN in error_codes.nearest("TM25")
    assert error_codes.nearest("hello") == []
