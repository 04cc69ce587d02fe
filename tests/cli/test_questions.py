"""Questions about a draft: one for each setting with thin evidence, again after an impossible answer."""

from __future__ import annotations

from spark_jobs.cli.questions import decide
from spark_jobs.jobs.draft.proposal import Answers, propose
from tests.support.profiles import CLICKS


class Person:
    """Answers questions from a script, and records the questions with their defaults."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.questions: list[tuple[str, str]] = []

    def __call__(self, question: str, default: str) -> str:
        self.questions.append((question.splitlines()[-1].strip(), default))
        return self._answers.pop(0) if self._answers else default


def test_each_thin_setting_is_a_question_with_the_guess_as_default() -> None:
    person = Person()
    answers = decide(CLICKS, Answers(), person)
    assert [default for _, default in person.questions] == ["clicked", "UTC", "site", "page"]
    assert propose(CLICKS, answers).choices == []


def test_answers_of_flags_are_no_questions() -> None:
    person = Person()
    decide(CLICKS, Answers(event_time="clicked", timezone="UTC", source_partition="none", key=("page",)), person)
    assert person.questions == []


def test_an_impossible_answer_is_refused_and_the_question_comes_again() -> None:
    person = Person("clickd", "clicked", "Europe/Berlin", "none", "site, page")
    answers = decide(CLICKS, Answers(), person)
    assert answers == Answers("clicked", None, "none", ("site", "page"), None, "Europe/Berlin")
    assert len(person.questions) == 5
