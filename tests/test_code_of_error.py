"""Each message that the product raises has a code, and a code has a cause and a cure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate.error_messages import messages
from spark_jobs import error_codes
from spark_jobs.code_of_error import OF_CLASSES, code_of
from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import BlockedError, InputError, StaleError
from spark_jobs.pipeline import PipelineError, load, parse
from spark_jobs.semantics.watermark.custom import GeneratorError
from spark_jobs.tables.errors import SourceError


def test_each_message_of_the_product_has_a_code() -> None:
    assert len(messages()) > 200
    assert [f"{message.place}: {message.template}" for message in messages() if message.code is None] == []


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("run: r1 is not in /lake/orders/runs: plan it first", "TM205"),
        ("--run: run r1 is not in /lake/orders/runs. Newest runs: none", "TM205"),
        ("--set: found 'x', expected dotted.key=value, such as windows.size='1 hour'", "TM201"),
        ("--from: 2024-01-01 cuts a window in two; windows begin at a and b", "TM202"),
        ("orders.yaml:4:1: source.where: the source has no column 'x' (it has y)", "TM303"),
        ("source.event_time: 'x' is BIGINT, declared with no unit: a numeric time needs", "TM304"),
        ("source.where: 'x' is of type int, not a condition", "TM306"),
        ("source.where: found rand() (its value is another in every run) in 'rand()'. An expression uses", "TM306"),
        ("source.where: [DATATYPE_MISMATCH.X] Cannot resolve", "TM306"),
        ("windows.aggregates.n ('sum(x)'): a sum is greater than its type can hold. Sum", "TM314"),
        ("source.table: version 3 of 't' was planned, found its file f deleted by a vacuum: plan again", "TM312"),
        ("--from and --to: t was deleted and made anew since run r1, whose", "TM308"),
        ("FOLDER: 'x': [MALFORMED]: correct the file. Nothing has been appended", "TM703"),
        ("orders.yaml: exists already. Give another name, or --force to replace it", "TM702"),
        ("publish: run r1 is planned; take its step audit before its publish", "TM206"),
    ],
)
def test_a_message_has_the_code_of_its_cause(message: str, code: str) -> None:
    assert code_of(InputError(message)) == code


def test_a_class_or_the_raiser_decides_before_the_message() -> None:
    assert code_of(StaleError("run: plan again")) is ErrorCode.PLAN_STALE
    assert code_of(BlockedError("1 failed", run_id="r1")) is ErrorCode.CHECKS_FAILED
    assert code_of(InputError("--set: found", code=ErrorCode.NO_DRAFT)) is ErrorCode.NO_DRAFT
    assert code_of(RuntimeError("--set: found 'x'")) is ErrorCode.UNEXPECTED
    assert code_of(SourceError("source.table: 'x' is not a Delta table")) is ErrorCode.NOT_A_DELTA_TABLE
    assert {code_of(type(name, (ValueError,), {})()) for name in OF_CLASSES} == set(OF_CLASSES.values())


def test_an_error_has_the_code_of_the_error_that_it_replaces() -> None:
    problem = InputError("no pattern has this text")
    problem.__cause__ = GeneratorError("cannot import")
    assert code_of(problem) is ErrorCode.GENERATOR_FAILED


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
