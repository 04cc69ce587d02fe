"""Work is done again by Spark alone only where Comet may be why it failed."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.jobs.errors import BlockedError
from spark_jobs.jobs.runs import either_engine
from tests.support import history

NATIVE = ValueError("[DIVIDE_BY_ZERO] Division by zero.")
LEFT = "Comet cannot run this ([DIVIDE_BY_ZERO] Division by zero.): Spark alone takes the step again"


class Session:
    """The engine of a session."""

    def __init__(self, *, uses_comet: bool = True) -> None:
        self.uses_comet = uses_comet


@pytest.fixture(autouse=True)
def _engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(session: Session) -> bool:
        left, session.uses_comet = session.uses_comet, False
        return left

    def return_to(session: Session) -> None:
        session.uses_comet = True

    monkeypatch.setattr(either_engine, "leave_native_engine", leave)
    monkeypatch.setattr(either_engine, "return_to_native_engine", return_to)


def attempts(*outcomes: Exception | str) -> Any:
    left = list(outcomes)

    def work() -> str:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return work


def test_work_is_done_again_by_spark_alone() -> None:
    session, lines = Session(), list[str]()
    assert either_engine.by_either_engine(attempts(NATIVE, "rows"), session, lines.append) == "rows"  # type: ignore[arg-type]
    assert lines == [LEFT]
    assert not session.uses_comet


def test_work_that_fails_by_both_leaves_comet_on() -> None:
    session, lines = Session(), list[str]()
    with pytest.raises(ValueError, match="again"):
        either_engine.by_either_engine(attempts(NATIVE, ValueError("again")), session, lines.append)  # type: ignore[arg-type]
    assert session.uses_comet


def test_work_around_work_that_fails_by_both_is_not_done_again() -> None:
    session, lines = Session(), list[str]()

    def around() -> str:
        inside = attempts(NATIVE, ValueError(str(NATIVE)))
        try:
            return str(either_engine.by_either_engine(inside, session, lines.append))  # type: ignore[arg-type]
        except ValueError as problem:
            raise RuntimeError(str(problem)) from problem

    with pytest.raises(RuntimeError, match="DIVIDE_BY_ZERO"):
        either_engine.by_either_engine(around, session, lines.append)  # type: ignore[arg-type]
    assert lines == [LEFT]
    assert session.uses_comet


@pytest.mark.parametrize(
    ("problem", "uses_comet"),
    [(ValueError("x"), True), (BlockedError("[DIVIDE_BY_ZERO]", run_id="r1"), True), (NATIVE, False)],
)
def test_other_failures_are_final(problem: Exception, *, uses_comet: bool) -> None:
    session, lines = Session(uses_comet=uses_comet), list[str]()
    with pytest.raises(type(problem)):
        either_engine.by_either_engine(attempts(problem, "rows"), session, lines.append)  # type: ignore[arg-type]
    assert (session.uses_comet, lines) == (uses_comet, [])


def test_a_pipeline_of_an_unlike_expression_runs_without_comet_meanwhile() -> None:
    session, lines = Session(), list[str]()
    pipeline = history.pipeline("t", source__where="happened_at > cast(site as timestamp)")
    states: list[bool] = []
    for runs in (pipeline, history.pipeline("t")):
        with either_engine.engine_of(session, runs, lines.append):  # type: ignore[arg-type]
            states.append(session.uses_comet)
        states.append(session.uses_comet)
    assert states == [False, True, True, True]
    assert lines == ["Spark alone runs this: source.where: a text becomes a timestamp, and may name a time zone"]
