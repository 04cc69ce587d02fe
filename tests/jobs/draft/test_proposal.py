"""Proposals: answers of the user win, guesses fill the rest, and an impossible answer is refused."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.jobs.draft.profile import Moment, Profile
from spark_jobs.jobs.draft.proposal import Answers, propose
from spark_jobs.jobs.draft.readings import Reading
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import TimeField
from tests.support.profiles import CLICKS


def test_guesses_fill_what_is_not_answered() -> None:
    proposal = propose(CLICKS, Answers())
    columns = {role: guess.column for role, guess in proposal.guesses.items()}
    assert columns == {
        "event_time": "clicked",
        "arrival_time": "stored",
        "source_partition": "site",
        "tie_break": None,
        "key": "page",
    }
    assert [choice.setting for choice in proposal.choices] == [
        "source.event_time",
        "source.source_partition",
        "windows.key",
    ]


def test_answers_win_and_leave_no_choice() -> None:
    answers = Answers("clicked", "none", "none", ("page", "site"), "5m", "Europe/Berlin")
    proposal = propose(CLICKS, answers)
    assert proposal.choices == []
    assert proposal.guesses["arrival_time"].column is None
    assert proposal.guesses["source_partition"].column is None
    assert (proposal.keys, proposal.size.ms) == (("page", "site"), 300_000)


def test_a_zone_applies_to_a_clock_without_one() -> None:
    proposal = propose(CLICKS, Answers(timezone="Europe/Berlin"))
    assert proposal.field("event_time", CLICKS) == TimeField("clicked", timezone="Europe/Berlin")
    assert proposal.field("arrival_time", CLICKS) == TimeField("stored")
    text = Reading(Leaf(("a",), T.StringType()), TimeField("a", format="yyyy"), is_local=True)
    table = Profile(10, [Moment(text, 10)], {}, {}, {"a": text.leaf}, {})
    zoned = propose(table, Answers(timezone="Europe/Berlin")).field("event_time", table)
    assert zoned == TimeField("a", format="yyyy", timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (Answers(event_time="clickd"), "did you mean 'clicked'"),
        (Answers(event_time="page"), "'page': is not a time.*clicked, stored"),
        (Answers(event_time="none"), "needs an event time"),
        (Answers(key=("user",)), "--key 'user': no column"),
        (Answers(size="5"), "--size '5'"),
        (Answers(timezone="Europe/Belrin"), "did you mean 'Europe/Berlin'"),
    ],
)
def test_impossible_answers_are_refused_with_what_is_possible(answers: Answers, message: str) -> None:
    with pytest.raises(InputError, match=message):
        propose(CLICKS, answers)
